"""An audit of a run: drawn documents are compared exactly with all others, and missed pairs are listed."""
