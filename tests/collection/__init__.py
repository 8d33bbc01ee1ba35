"""Manifests of many kinds and clusters to ask them of, made for this project, each with the right answer by hand."""
