"""Tokens to fingerprints, shingle sets and signatures."""
