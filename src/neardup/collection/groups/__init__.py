"""Groups that stay the same while documents come and go, and the decisions of reviewers about pairs."""
