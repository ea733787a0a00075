"""Training documents that contain test items, with the evidence for each match."""
