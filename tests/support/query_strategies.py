"""Hypothesis strategies: syntax trees, and texts that look like queries but seldom are."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from neardup.collection.query.syntax import (
    OPERATORS,
    And,
    FieldClause,
    File,
    Fingerprint,
    Node,
    Not,
    Or,
    Pasted,
    Query,
    Source,
    Stored,
    Unresolved,
    WordsClause,
    readings,
)

PIECES = (
    *(
        "AND",
        "OR",
        "NOT",
        "EXPLAIN",
        "FINGERPRINT:",
        "SIMILAR:",
        "TEXT:",
        "FILE:",
        "FINGERPRINT",
        "_20_80",
        "_0",
        "_101",
    ),
    *(
        "(",
        ")",
        '"',
        "\\",
        "\\u{",
        "}",
        ":",
        "=",
        "<=",
        ">",
        "!=",
        "!",
        "*",
        "-",
        "“",
        "”",
        "%",
        " ",
        "\n",
        "\x00",
    ),
    *("budget", "from", "a_b", "1234", "2020-01-01", "é", "東京", "\u202e", "\u00a0", "\x1b[2J", "\ud800"),
)
LIKE_QUERIES = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)

_ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_WORDS = st.sampled_from(("budget", "AND", "FINGERPRINT", "a_20", "x_20_80", "-no", "a*", "12", "from", "EXPLAIN"))
TEXTS = _WORDS | _ANYTHING
PERCENTAGES = st.integers(1, 1_000_000).map(lambda value: (Decimal(value) / 10_000).normalize())
_NUMBERS = st.just((None, None)) | st.tuples(PERCENTAGES, st.none() | PERCENTAGES)


def _unresolved(parts: list[str]) -> Source:
    word = "_".join(["d", *parts])
    return Unresolved(word) if len(readings(word)) > 1 else Stored(word)


_FINGERPRINTS = st.builds(
    lambda source, numbers, symmetric: Fingerprint(source, *numbers, symmetric),
    TEXTS.map(Stored) | TEXTS.map(Pasted) | TEXTS.map(File),
    _NUMBERS,
    st.booleans(),
) | st.builds(
    lambda source, symmetric: Fingerprint(source, symmetric=symmetric),
    st.lists(st.sampled_from(("20", "80", "20.50", "0", "100", "101", "x")), max_size=4).map(_unresolved),
    st.booleans(),
)
CLAUSES = _FINGERPRINTS | TEXTS.map(WordsClause) | st.builds(FieldClause, TEXTS, st.sampled_from(OPERATORS), TEXTS)


def _combined(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return several.map(And) | several.map(Or) | parts.map(Not)


NODES: st.SearchStrategy[Node] = st.recursive(CLAUSES, _combined, max_leaves=12)
QUERIES = st.builds(Query, NODES, st.booleans())
