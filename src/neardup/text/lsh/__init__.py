"""Locality-sensitive hashing: bands of signatures, and tables of fingerprints."""
