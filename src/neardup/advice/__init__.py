"""Advice on the user's own documents: the effect of a threshold, of other settings, and misleading patterns."""

from neardup.advice.adviser import Advice, advise, advise_on

__all__ = ["Advice", "advise", "advise_on"]
