"""Records made of decoded objects: one module a family of kinds, one function a record."""
