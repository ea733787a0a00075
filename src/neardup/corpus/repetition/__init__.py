"""Passages that occur more than once: found, shown and cut."""
