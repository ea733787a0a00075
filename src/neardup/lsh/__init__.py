"""Locality-sensitive hashing: bands and the pairs they find, an index of signatures, Hamming distances."""
