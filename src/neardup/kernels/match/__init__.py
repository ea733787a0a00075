"""The common text of two token sequences."""
