"""Two texts side by side: rows of equal, changed, one-sided and moved text that together hold both texts."""

from neardup.comparison.alignment.rows import Alignment, Match, align
from neardup.comparison.alignment.table import Piece, Row

__all__ = ["Alignment", "Match", "Piece", "Row", "align"]
