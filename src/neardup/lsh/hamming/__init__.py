"""Fingerprints that differ in few bits: all pairs of them, or those near one. Nothing is missed."""
