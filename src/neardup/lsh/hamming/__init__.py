"""Fingerprints that differ in few bits: all pairs, or the neighbours of one. Nothing is missed."""
