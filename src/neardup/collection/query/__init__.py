"""The query language: text → syntax tree with a canonical text form → plan of look-ups."""

from neardup.collection.query.grammar import parse
from neardup.collection.query.syntax import Query, canonical

__all__ = ["Query", "canonical", "parse"]
