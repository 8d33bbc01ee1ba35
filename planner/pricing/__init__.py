"""Prices: the price book, and the mapping from nodes and SKUs to prices."""
