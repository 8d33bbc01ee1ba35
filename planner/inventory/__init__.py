"""What exists: the snapshot's records, how they are parsed, and checks on them."""
