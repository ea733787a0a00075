"""Prefix indexes, exact copies, audits."""
