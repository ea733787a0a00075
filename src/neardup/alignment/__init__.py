"""Two texts side by side: rows of equal, changed, one-sided and moved text, from which both can be read whole."""

from neardup.alignment.rows import Alignment, Match, Piece, Row, align

__all__ = ["Alignment", "Match", "Piece", "Row", "align"]
