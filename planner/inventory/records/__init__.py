"""Reads decoded objects into records: one module a family of kinds, one function a record."""
