"""The inventory: parses a cluster's objects into a snapshot's records, and checks them."""
