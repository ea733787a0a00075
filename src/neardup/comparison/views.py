"""A comparison for people: on a terminal, and on a page."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.comparison.show import as_text, facts_of, notes_on
from neardup.comparison.show.page import ComparisonBody, PACKAGE, style_sheet
from neardup.comparison.show.words import characters_sentence, common_sentence, differences_sentence, value_of
