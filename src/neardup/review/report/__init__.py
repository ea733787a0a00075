"""The report of a result: one self-contained page with the figures, the groups and the pairs to look at."""
