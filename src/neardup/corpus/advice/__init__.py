"""Advice on the user's own documents: the effect of a threshold, of other settings, and misleading patterns."""

from neardup.corpus.advice.adviser import Advice, advise, advise_on, checked

__all__ = ["Advice", "advise", "advise_on", "checked"]
