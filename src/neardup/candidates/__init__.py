"""Ways to propose pairs; each gives the same candidate table, and none of its pairs is believed unverified."""
