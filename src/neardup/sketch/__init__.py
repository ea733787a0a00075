"""Sketches of documents: MinHash, SimHash, samples, and the provenance of signatures."""
