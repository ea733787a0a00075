"""Kinds of difference between two texts: one name for each pair, in their order of precedence."""

IDENTICAL = "identical text"
SIGNS = "sign or operator"
STYLE = "case or punctuation only"
NUMBERS = "numbers only"
QUOTED = "quoted reply"
CONTAINED = "one is contained"
INSERTED = "one passage inserted/removed"
MOVED = "moved"
WORDING = "wording"

KINDS = (IDENTICAL, SIGNS, STYLE, NUMBERS, QUOTED, CONTAINED, INSERTED, MOVED, WORDING)
"""Every kind; a pair has the first one that applies to it."""

PASSAGE = 5
"""Fewest tokens of a passage, unless it is a whole line or sentence."""
