"""The decisions of a review, in one SQLite file beside the tables of a result."""
