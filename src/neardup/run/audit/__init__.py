"""An audit of a run: a sample of documents is compared exactly with all others, and missed pairs are listed."""
