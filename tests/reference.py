"""Naive twins: what the kernels compute, in plain Python, written to be read and not to be fast.

Every kernel is tested against its twin here. A twin follows the definition and shares no code and no
table with the package, so that the two can only agree by both being right. One block for each subject.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import regex

# ---------------------------------------------------------------------------------------------------------
# Text to tokens to shingles (kernels/unicode.py, kernels/tokens.py, text.py).
#
# unicodedata is of the interpreter's Unicode version and regex of its own; they agree with 15.0.0 on every
# code point that is assigned in both, which is all they are asked about (see strategies.COMPARABLE).

# Default_Ignorable_Code_Point of Unicode 15.0.0 (DerivedCoreProperties.txt), first and last of each range
DEFAULT_IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
SPACELESS = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]"
)
EXTENDS = regex.compile(
    r"[\p{Grapheme_Cluster_Break=Extend}\p{Grapheme_Cluster_Break=SpacingMark}\p{Grapheme_Cluster_Break=ZWJ}]"
)


@cache
def nfkc_cf(char: str) -> str:
    """Return the property NFKC_Casefold of one character, made as DerivedNormalizationProps.txt says."""
    while True:
        folded = unicodedata.normalize("NFKC", char).casefold()
        folded = "".join(c for c in folded if not any(a <= ord(c) <= b for a, b in DEFAULT_IGNORABLE))
        if folded == char:
            return char
        char = folded


def nfkc_casefold(text: str) -> str:
    """Return toNFKC_Casefold(text) (The Unicode Standard, section 3.13, R5)."""
    return unicodedata.normalize("NFC", "".join(map(nfkc_cf, text)))


def tokens(text: str) -> list[str]:
    """Return the tokens of the normalised text by the scan rule of the definition."""
    found: list[str] = []
    state = "none"
    for char in nfkc_casefold(text):
        category = unicodedata.category(char)
        if not (category[0] in "LMN" or category == "Pc"):
            state = "none"
            continue
        own_state = "single" if SPACELESS.match(char) else "word-run"
        continues = category[0] == "M" and EXTENDS.match(char)
        if state != "none" and (continues or own_state == state == "word-run"):
            found[-1] += char
        else:
            found.append(char)
            state = own_state
    return found


def characters(text: str) -> list[str]:
    """Return the units of character shingles: white space collapsed and trimmed."""
    white_space = regex.compile(r"\p{White_Space}+")
    return list(white_space.sub(" ", nfkc_casefold(text)).strip(" "))


def shingle_set(text: str, length: int, unit: str) -> set[tuple[str, ...]]:
    """Return the set of shingles; fewer than ``length`` units make one shingle, none make none."""
    units = tokens(text) if unit == "word" else characters(text)
    if 0 < len(units) < length:
        return {tuple(units)}
    return {tuple(units[i : i + length]) for i in range(len(units) - length + 1)}
