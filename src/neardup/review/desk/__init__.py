"""The data behind the pages of a review: the result of a run, or a collection."""
