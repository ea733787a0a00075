"""Prefix indexes, exact copies and audits."""
