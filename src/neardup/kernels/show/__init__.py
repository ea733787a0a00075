"""Rows of an alignment, and the marks on them."""
