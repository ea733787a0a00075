"""Naive twins of the kernels in plain Python, written for readability, not for speed.

Every kernel is tested against its twin here. A twin follows the definition and shares no code and no
table with the package, so that the two can only agree by both being right. One block for each subject.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import regex

# ---------------------------------------------------------------------------------------------------------
# Text to tokens to shingles (kernels/text/unicode.py, kernels/text/tokens.py, text/unicode.py).
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


TATWEEL = "\u0640"


def nfkc_casefold(text: str) -> str:
    """Return toNFKC_Casefold(text) (The Unicode Standard, section 3.13, R5), and no tatweel."""
    return unicodedata.normalize("NFC", "".join(map(nfkc_cf, text)).replace(TATWEEL, ""))


CONNECTORS = "".join(regex.findall(r"\p{Pc}", "".join(map(chr, range(0x10000)))))


@cache
def state_of(char: str) -> tuple[str, bool]:
    """Return the state of the scan that a character asks for, and whether it continues any token."""
    category = unicodedata.category(char)
    if not (category[0] in "LMN" or category == "Pc"):
        return "none", False
    own_state = "single" if SPACELESS.match(char) else "word-run"
    return own_state, category[0] == "M" and bool(EXTENDS.match(char))


def tokens(text: str) -> list[str]:
    """Return the tokens of the normalised text by the scan rule of the definition."""
    found: list[str] = []
    state = "none"
    for char in nfkc_casefold(text):
        own_state, continues = state_of(char)
        if own_state == "none":
            state = "none"
            continue
        if state != "none" and (continues or own_state == state == "word-run"):
            found[-1] += char
        else:
            found.append(char)
            state = own_state
    cut = (token.strip(CONNECTORS) for token in found)
    return [token for token in cut if token]


def characters(text: str) -> list[str]:
    """Return the units of character shingles: white space collapsed and trimmed."""
    white_space = regex.compile(r"\p{White_Space}+")
    return list(white_space.sub(" ", nfkc_casefold(text)).strip(" "))


def shingle_set(text: str, length: int, unit: str) -> set[tuple[str, ...]]:
    """Return the set of shingles; fewer than ``length`` units make one shingle, none make none."""
    return shingles_of(tokens(text) if unit == "word" else characters(text), length)


def shingles_of(units: list[str], length: int) -> set[tuple[str, ...]]:
    if 0 < len(units) < length:
        return {tuple(units)}
    return {tuple(units[i : i + length]) for i in range(len(units) - length + 1)}


# ---------------------------------------------------------------------------------------------------------
# Units to hashes (kernels/bits.py, kernels/text/hashing.py, kernels/shingles.py, kernels/sketch/documents.py)

WORD = 2**64 - 1
HALF_WORD = 2**32 - 1
GOLD = 0x9E3779B97F4A7C15


def fold128(a: int, b: int) -> int:
    """Return the high half xor the low half of the 128-bit product."""
    return (a * b >> 64) ^ (a * b & WORD)


def mix64(value: int) -> int:
    """Return MurmurHash3's 64-bit finaliser of the value."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & WORD
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & WORD
    return value ^ value >> 33


def word_mask(data: bytes) -> int:
    """Return a number whose bit i says whether byte i is one of [0-9A-Za-z_]."""
    return sum(1 << i for i, byte in enumerate(data) if regex.match(rb"[0-9A-Za-z_]", bytes([byte])))


def low_line_mask(data: bytes) -> int:
    """Return a number whose bit i says whether byte i is '_'."""
    return sum(1 << i for i, byte in enumerate(data) if byte == ord("_"))


def high_mask(data: bytes) -> int:
    """Return a number whose bit i says whether byte i is not ASCII."""
    return sum(1 << i for i, byte in enumerate(data) if byte > 0x7F)


def hash_bytes(token: bytes) -> int:
    """Return the hash of a token as the kernels see it: UTF-8, with '_' as byte 0x7F.

    Up to eight bytes are one word. A longer token is its first and its last word, which may overlap, and
    then the words between from the ninth byte on; the last of those may reach into the last word.
    """
    start = 0xA0761D6478BD642F + len(token) * 0xD6E8FEB86659FD93 & WORD
    words = [int.from_bytes(token[i : i + 8], "little") for i in range(0, len(token), 8)]
    if len(token) <= 8:
        return fold128(words[0] ^ GOLD, start)
    last = int.from_bytes(token[-8:], "little")
    value = fold128(words[0] ^ GOLD, last ^ start)
    for word in words[1:-1]:
        value = fold128(value ^ word, 0xD6E8FEB86659FD93)
    return value


def hash_token(token: str) -> int:
    """Return the hash of a token of the normalised text."""
    return hash_bytes(token.replace("_", "\x7f").encode("utf-8"))


def ascii_tokens(data: bytes) -> list[int]:
    """Return the hashes of the tokens of an ASCII text."""
    words = regex.findall(rb"[0-9A-Za-z](?:[0-9A-Za-z_]*[0-9A-Za-z])?", data)
    return [hash_token(word.decode("ascii").lower()) for word in words]


def unit_hashes(text: str, unit: str) -> list[int]:
    """Return the hashes of the tokens ("word") or characters ("char") of a text, in text order."""
    if unit == "word":
        return [hash_token(token) for token in tokens(text)]
    return [mix64(GOLD * (ord(char) + 1) & WORD) for char in characters(text)]


def shingle_key(position: int) -> int:
    """Return the odd multiplier of the unit at a position of a shingle."""
    return mix64(GOLD * (position + 1) & WORD) | 1


def shingle_hashes(units: list[int], length: int) -> list[int]:
    """Return the hash of every shingle in text order; fewer units than ``length`` make one shingle."""
    if not units:
        return []
    if len(units) < length:
        together = sum(shingle_key(i) * unit for i, unit in enumerate(units))
        return [mix64(GOLD * len(units) + together & WORD)]
    windows = [units[first : first + length] for first in range(len(units) - length + 1)]
    return [mix64(sum(shingle_key(i) * unit for i, unit in enumerate(window)) & WORD) for window in windows]


def stream_key(units: list[int]) -> tuple[int, int]:
    """Return the 128-bit key of the whole sequence: two polynomials in four lanes.

    Unit i belongs to lane i mod 4; what is left over after the last four belongs to lane 0.
    """
    a, b = [1, 2, 3, 4], [5, 6, 7, 8]
    for i, unit in enumerate(units):
        lane = i % 4 if i < len(units) // 4 * 4 else 0
        a[lane] = a[lane] * 0x8EBC6AF09C88C6E3 + unit & WORD
        b[lane] = (b[lane] ^ unit) * 0x589965CC75374CC3 & WORD
    count = len(units) * GOLD & WORD
    high = mix64(a[0] + count & WORD) ^ a[1]
    high = mix64(mix64(mix64(high) + a[2] & WORD) ^ a[3])
    low = mix64(b[0] ^ count) + b[1] & WORD
    low = mix64(mix64(mix64(low) ^ b[2]) + b[3] & WORD)
    return high, low


# ---------------------------------------------------------------------------------------------------------
# Shingle hashes to MinHash signatures (sketch/documents.py, kernels/sketch/minhash.py)

EMPTY_SLOT = HALF_WORD


def splitmix64(state: int) -> int:
    """Return the SplitMix64 output for a state."""
    z = state + GOLD & WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def coefficients(slots: int) -> list[tuple[int, int]]:
    """Return multiplier (odd) and offset of each slot; the seed is b"neardup1" read as a number."""
    seed = int.from_bytes(b"neardup1", "big")
    words = [splitmix64(seed + slot * GOLD & WORD) for slot in range(slots)]
    return [(word >> 32 | 1, word & HALF_WORD) for word in words]


def classic_slot(hashes: list[int], a: int, b: int) -> int:
    """Return the smallest a·x + b mod 2³² over the low halves x of the hashes."""
    return min((a * (value & HALF_WORD) + b) & HALF_WORD for value in hashes)


def classic(hashes: list[int], slots: int) -> list[int]:
    """Return the classic MinHash signature of hashes, of which there is at least one."""
    return [classic_slot(hashes, a, b) for a, b in coefficients(slots)]


def one_permutation(hashes: list[int], slots: int) -> tuple[list[int], list[bool]]:
    """Return the one-permutation signature, and which slots a hash chose; the others are classic.

    The top log₂(slots) bits of a hash choose the slot; the 32 bits below them compete there.
    """
    bits = slots.bit_length() - 1
    signature, chosen = [], []
    for slot, (a, b) in enumerate(coefficients(slots)):
        own = [value for value in hashes if value >> (64 - bits) == slot]
        signature.append((min(own) << bits & WORD) >> 32 if own else classic_slot(hashes, a, b))
        chosen.append(bool(own))
    return signature, chosen


def sketch_set(hashes: list[int], slots: int, sketch: str) -> tuple[list[int], list[bool]]:
    """Return signature and chosen slots of any set of hashes; those of the empty one are all ones and none."""
    if not hashes:
        return [EMPTY_SLOT] * slots, [False] * slots
    if sketch == "classic":
        return classic(hashes, slots), [False] * slots
    return one_permutation(hashes, slots)
