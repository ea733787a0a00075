"""Verified pairs to groups, representatives and decisions."""
