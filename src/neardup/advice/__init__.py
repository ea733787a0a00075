"""Advice on the user's own documents: what a threshold does to them, what other settings find, what misleads."""

from neardup.advice.adviser import advise, advise_on
from neardup.advice.record import Advice

__all__ = ["Advice", "advise", "advise_on"]
