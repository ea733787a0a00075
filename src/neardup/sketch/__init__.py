"""Sketches of documents: MinHash, SimHash, samples, and where signatures came from."""
