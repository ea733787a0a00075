"""What kind of difference two texts have: one name for each pair, and a sentence with counts."""
