"""The records of the options, one a command."""
