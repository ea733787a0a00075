"""Advice on the user's own documents: what a threshold does to them, what other settings find, what misleads."""

from neardup.advice.adviser import Advice, advise, advise_on

__all__ = ["Advice", "advise", "advise_on"]
