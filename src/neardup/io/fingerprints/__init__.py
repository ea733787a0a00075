"""Fingerprints on disk: the first pass over a part of the input, kept for later runs on any machine."""
