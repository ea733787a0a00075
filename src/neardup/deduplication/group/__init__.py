"""Verified pairs → groups, representatives and decisions."""
