"""Bytes to characters, tokens, words and spans."""
