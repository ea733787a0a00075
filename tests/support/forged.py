"""Texts made to have the published hashes of others: what an attacker who reads the source can do."""

from __future__ import annotations

from functools import cache

from support import reference

VICTIM = "the ferry leaves at noon on sunday"
FORGED = "wczaog xljrwe yakheg zsjbeb alpha wbbakb xuorsc yhtxwd zclimf alpha weocxd xentxe yicvya zfacsb alpha"
"""Five tokens for each of the three shingles of the victim, with the same published hash.

Found by a four-list birthday (Wagner 2002) in seconds: 2²² tokens for each of the first four positions, those of
two positions joined by 22 bits of their sums, and what is left by all 64.
"""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CASELESS = [*range(0x30, 0x3A), *range(0x61, 0x7B)]
_WANTED = {a ^ b: (a, b) for a in _CASELESS for b in _CASELESS}
_CHAIN = 0xD6E8FEB86659FD93


@cache
def colliding_tokens(wanted: int) -> list[tuple[str, str]]:
    """Return pairs of different tokens of 24 bytes with the same published hash.

    Such a hash is fold(v ^ middle), v being made of the first and the last eight bytes. So of two tokens with v₁
    and v₂ the middles need only differ by v₁ ^ v₂, and that is the difference of letters or digits once in 2¹⁶.
    """
    last = int.from_bytes(b"attached", "little") ^ (0xA0761D6478BD642F + 24 * _CHAIN) & reference.WORD
    met: dict[int, list[tuple[bytes, int]]] = {}
    found: list[tuple[str, str]] = []
    for number in range(1 << 20):
        begin = bytes(ord(_LETTERS[number // 26**k % 26]) for k in range(5)) + b"aaa"
        value = reference.fold128(int.from_bytes(begin, "little") ^ reference.GOLD, last)
        others = met.setdefault(value & 0xA0A0A0A0A0A0A0A0, [])
        for other, its_value in others:
            bytes_apart = (value ^ its_value).to_bytes(8, "little")
            if all(byte in _WANTED for byte in bytes_apart):
                middles = zip(*(_WANTED[byte] for byte in bytes_apart), strict=True)
                one, two = (bytes(middle) for middle in middles)
                found.append(((other + one + b"attached").decode(), (begin + two + b"attached").decode()))
                others.remove((other, its_value))
                break
        else:
            others.append((begin, value))
        if len(found) == wanted:
            return found
    raise AssertionError("not enough collisions")


def twins(words: int = 60) -> tuple[str, str]:
    """Return two texts that have no word in common, and the same published hashes word by word."""
    pairs = colliding_tokens(words)
    return " ".join(a for a, _ in pairs), " ".join(b for _, b in pairs)


def thue_morse(words: tuple[str, str], length: int) -> str:
    """Return the Thue–Morse sequence over two words, each term four times: one for each lane of a stream key."""
    return " ".join(words[bin(k).count("1") % 2] for k in range(length) for _ in range(4))
