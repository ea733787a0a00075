"""One batch run: runs the stages, keeps the account, and holds the result for later questions."""
