"""The numbers of the formulas over |A∩B|, |A| and |B|; ``sets.part`` and ``sets.whole`` compute them."""

RESEMBLANCE = 0
"""|A∩B| / |A∪B|"""
CONTAINMENT = 1
"""|A∩B| / |A|, which has a direction"""
OVERLAP = 2
"""|A∩B| / min(|A|, |B|)"""
LARGER = 3
"""|A∩B| / max(|A|, |B|)"""
DICE = 4
"""2·|A∩B| / (|A| + |B|)"""
HELD = 5
"""|A∩B| / |B|: the containment of the other set. Only for a direction; no search has it as its measure."""
COSINE = 6
"""|A∩B| / √(|A|·|B|), by its square: |A∩B|² / (|A|·|B|) is the fraction of whole numbers"""
SHARED = 7
"""|A∩B|, a number and no share. Only for joins of sets; no run has it as its measure."""
