"""Which training documents contain test items, with the evidence for each match."""
