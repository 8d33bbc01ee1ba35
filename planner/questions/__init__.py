"""The front hall: one module a question, from a snapshot and settings to a frozen answer."""
