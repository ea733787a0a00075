"""Groups that stay the same while documents come and go, and what reviewers decided about pairs."""
