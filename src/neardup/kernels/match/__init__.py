"""What two sequences of tokens have in common."""
