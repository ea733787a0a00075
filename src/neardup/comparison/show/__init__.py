"""Views of a comparison: lines on a terminal, and a page for the browser, for print and for notebooks."""

from neardup.comparison.show.page import as_fragment, as_page
from neardup.comparison.show.terminal import as_text, facts_of
from neardup.comparison.show.words import notes_on

__all__ = ["as_fragment", "as_page", "as_text", "facts_of", "notes_on"]
