"""Questions about a whole corpus: test items in it, repeated passages, and the thresholds that suit it."""
