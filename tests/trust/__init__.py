"""What `make trust` shows: hostile inputs tried, people held at once, and for how long."""
