"""One batch run: it strings the stages together, keeps the account, and is asked afterwards."""
