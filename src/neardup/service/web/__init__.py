"""The common parts of all servers: checks, limits, tokens, refusals, logs, metrics, threads."""
