"""The pairs that meet the criterion: candidates, verification, exact joins."""
