"""Groups and pairs on pages: the report of a run, and the review in which people decide."""
