"""Bytes to characters, tokens, words, spans."""
