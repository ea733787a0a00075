"""The settings of who may remove whom: which documents may be pairs, and which one of a group stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from neardup.settings.fields import setting
from neardup.settings.panels import COMPARED, STAY
from neardup.settings.rules import (
    KEEP_NONE,
    KEEP_ORDERS,
    Rule,
    is_column,
    keep_policies,
    keep_policy,
    of_keep,
    of_share,
    one_of,
    several,
    share,
    share_of,
)

_KEEP_EACH = several(Rule("", keep_policy), least=1)


@dataclass(frozen=True)
class Relations:
    """Which documents may be pairs and copies of each other, by the values of columns.

    Values are strings, whole numbers, truth values or dates, and are compared as text. Rows without a value count
    as rows with one and the same value.
    """

    PANEL: ClassVar = COMPARED

    within: tuple[str, ...] = setting(
        (),
        several(Rule("names of columns, each once", is_column)),
        "Compare only documents with the same value in this column, for example a language or a mailbox; others "
        "are never pairs, copies, or in one group. Given several times: all these columns count.",
        many=True,
        metavar="COLUMN",
    )
    across: str = setting(
        "",
        Rule("the name of a column", lambda value: True),
        "Compare only documents with different values in this column, for example train and test; copies and near "
        "copies with the same value stay.",
        metavar="COLUMN",
    )
    no_self: bool = setting(
        False,
        Rule("true or false", lambda value: True),
        "With a reference set: compare the documents with those of the reference set only, not with each other. "
        "Copies and near copies among them stay.",
    )


@dataclass(frozen=True)
class Keep:
    """Which member of a group stays, and the columns of kept documents about the others."""

    PANEL: ClassVar = STAY

    keep: str | tuple[str, ...] = setting(
        "longest",
        Rule(
            "longest, first, last, max:COLUMN, min:COLUMN, order:COLUMN=a,b,c, several policies in order, or none",
            lambda value: _KEEP_EACH.holds(value) and keep_policies(value),
            lambda value: of_keep(value, (*KEEP_ORDERS, KEEP_NONE)),
        ),
        "Which document of a group is kept and represents it. Given several times: the next policy decides ties, "
        "and at last the input order. order: the listed values of a column come first, in this order. none: all "
        "documents of a family go, exact copies included, as for decontamination; families are the groups by "
        "components.",
        many=True,
        metavar="POLICY",
    )
    only_contained: float = setting(
        0.0,
        Rule(
            "a number from 0 to 1, or a percentage such as 90%",
            lambda value: 0 <= value <= 1,
            of_share,
            share_of,
        ),
        "Remove a near copy only if the kept document contains at least this share of its shingles; 0: off.",
    )
    held: str = setting(
        "new-in-old",
        one_of("new-in-old", "old-in-new", "either"),
        "With measure containment and a reference set: which side has to be held in the other for a new document "
        "to go. new-in-old: the new document, as for excerpts of known texts; old-in-new: the reference document, "
        "as for test items in training documents.",
    )
    lose: float = setting(
        1.0,
        share("a number from 0 to 1"),
        "Remove a near copy only if at most this share of its shingles is lost, that is, in no document of its "
        "group that stays; 0: lose nothing; 1: off.",
    )
    most_removed: float = setting(
        1.0,
        share("a number from 0 to 1"),
        "Write nothing if more than this share of the documents of any input file, or of any value of sources, "
        "would go; 1: off.",
    )
    empty: str = setting(
        "keep",
        one_of("keep", "drop", "one"),
        "Treatment of documents without text, which cannot be compared: keep all; drop all; or keep one, as if "
        "the others were its exact copies.",
    )
    count: bool = setting(
        False,
        Rule("true or false", lambda value: True),
        "Add to each kept document the number of removed documents it represents: copies, which are exact_copies "
        "and near_copies together.",
    )
    sources: str = setting(
        "",
        Rule("the name of a column", lambda value: True),
        "With count: add the distinct values of this column among a kept document and those it represents, as the "
        "list sources.",
        metavar="COLUMN",
    )
