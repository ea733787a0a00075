"""The review as pages of a server: people read groups and pairs, and decide."""
