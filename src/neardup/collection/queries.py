"""The query language of a collection."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.collection.query import canonical, parse
from neardup.collection.query.explanation import as_dict, describe, doubts
from neardup.collection.query.plan import plan
from neardup.collection.query.syntax import (
    And, Clause, FieldClause, Fingerprint, Node, Not, Or, Query, WordsClause, is_bare_word, quoted_text,
)
from neardup.collection.query.target import Open
