"""Compare two documents: every measure, the text they have in common, and views of both."""
