"""One service in several namespaces or clusters: what differs, and what that explains."""
