"""Which pairs meet the criterion: candidates, verification, exact joins."""
