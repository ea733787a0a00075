"""Pairs of near-duplicates, their groups, the documents that stay, and whole runs."""
