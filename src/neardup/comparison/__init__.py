"""Two documents: every measure of them, what they have in common, and how that is shown."""
