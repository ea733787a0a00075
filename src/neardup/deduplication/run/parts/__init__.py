"""A run in parts: fingerprints of each part made anywhere, merged into one result."""
