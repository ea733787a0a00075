"""Repeated passages in a stream of tokens: anchors, equal windows, blocks, and maximal repeats."""
