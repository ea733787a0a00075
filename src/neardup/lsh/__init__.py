"""Locality-sensitive hashing: bands and what they find, an index of signatures, Hamming distances."""
