"""Write ``src/neardup/unicode-15.0.0.npz`` from the files of the Unicode Character Database 15.0.0.

    python scripts/make_unicode_tables.py [--ucd /usr/share/unicode] [--out FILE]

The UCD files are those of the Debian package ``unicode-data`` (version 15.0.0), or of
https://www.unicode.org/Public/15.0.0/ucd/. Sections and properties are cited as in UAX #44 (the UCD),
UAX #15 (normalisation forms) and UAX #29 (grapheme clusters). The same input gives the same bytes.

The layout of the tables is described at ``neardup.unicode.UnicodeTables``; the flag bits and the
hash of a pair are imported from ``neardup.kernels.text.unicode``, so that writer and reader cannot differ.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from neardup.kernels.text import unicode as kernel  # noqa: E402
from neardup.unicode import TABLE_FILE, UNICODE_VERSION  # noqa: E402

CODE_POINTS = 0x110000
SPACELESS_SCRIPTS = frozenset({"Han", "Hiragana", "Thai", "Lao", "Khmer", "Myanmar"})
CONTINUATION_BREAKS = frozenset({"Extend", "SpacingMark", "ZWJ"})
TATWEEL = 0x640
"""The one tailoring of NFKC_CF: it stretches a word, as a soft hyphen may cut it, and is mapped to nothing."""
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
PAIR_SLOTS = 2048
# UCD files whose first line carries the version ("# Scripts-15.0.0.txt"); UnicodeData.txt has none
STAMPED = ("Scripts.txt", "DerivedNormalizationProps.txt", "PropList.txt", "CompositionExclusions.txt")


class Properties(NamedTuple):
    """The properties used, each a map from code point to value; an absent code point has the default."""

    category: dict[int, str]
    ccc: dict[int, int]
    decomposition: dict[int, list[int]]  # canonical only, one step (UnicodeData.txt field 5)
    script: dict[int, str]
    grapheme_break: dict[int, str]
    white_space: set[int]
    excluded: set[int]  # Full_Composition_Exclusion
    nfc_quick_check: dict[int, str]
    nfkc_casefold: dict[int, list[int]]


def read_ranges(path: Path, name: str | None = None) -> dict[int, str]:
    """Return the values of a UCD property file, or of its property ``name`` (UAX #44, section 4.2)."""
    values: dict[int, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("#")[0].split(";")]
        if len(fields) < 2 or (name is not None and fields[1] != name):
            continue
        first, _, last = fields[0].partition("..")
        for code_point in range(int(first, 16), int(last or first, 16) + 1):
            values[code_point] = fields[1] if name is None else fields[-1]
    return values


def read_unicode_data(path: Path) -> tuple[dict[int, str], dict[int, int], dict[int, list[int]]]:
    """Return (general category, canonical combining class, canonical decomposition) by code point."""
    category: dict[int, str] = {}
    ccc: dict[int, int] = {}
    decomposition: dict[int, list[int]] = {}
    first = -1
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split(";")
        code_point = int(fields[0], 16)
        if fields[1].endswith(", First>"):
            first = code_point
            continue
        start = first if fields[1].endswith(", Last>") else code_point
        for each in range(start, code_point + 1):
            category[each] = fields[2]
        if fields[3] != "0":
            ccc[code_point] = int(fields[3])
        if fields[5] and not fields[5].startswith("<"):
            decomposition[code_point] = [int(part, 16) for part in fields[5].split()]
    return category, ccc, decomposition


def read_properties(ucd: Path) -> Properties:
    """Read the UCD files below the folder ``ucd``; ValueError when they are of another version."""
    for name in STAMPED:
        with (ucd / name).open(encoding="utf-8") as lines:
            stamp = next(lines).strip()
        if not stamp.endswith(f"-{UNICODE_VERSION}.txt"):
            raise ValueError(f"{ucd / name} says {stamp!r}; Unicode {UNICODE_VERSION} is needed.")
    category, ccc, decomposition = read_unicode_data(ucd / "UnicodeData.txt")
    derived = ucd / "DerivedNormalizationProps.txt"
    return Properties(
        category=category,
        ccc=ccc,
        decomposition=decomposition,
        script=read_ranges(ucd / "Scripts.txt"),
        grapheme_break=read_ranges(ucd / "auxiliary" / "GraphemeBreakProperty.txt"),
        white_space=set(read_ranges(ucd / "PropList.txt", "White_Space")),
        excluded=set(read_ranges(derived, "Full_Composition_Exclusion")),
        nfc_quick_check=read_ranges(derived, "NFC_QC"),
        nfkc_casefold={
            code_point: [part for part in (int(digits, 16) for digits in value.split()) if part != TATWEEL]
            for code_point, value in (*read_ranges(derived, "NFKC_CF").items(), (TATWEEL, ""))
        },
    )


def full_decomposition(code_point: int, one_step: dict[int, list[int]]) -> list[int]:
    """Return the full canonical decomposition of ``code_point`` (UAX #15, section 1.2; not for Hangul)."""
    if code_point not in one_step:
        return [code_point]
    return [final for part in one_step[code_point] for final in full_decomposition(part, one_step)]


def primary_composites(ucd: Properties) -> dict[tuple[int, int], int]:
    """Return the pairs that compose canonically among the code points that NFKC_CF leaves as they are."""
    return {
        (parts[0], parts[1]): composite
        for composite, parts in ucd.decomposition.items()
        if len(parts) == 2
        and composite not in ucd.excluded
        and not any(part in ucd.nfkc_casefold for part in parts)
    }


def check_assumptions(ucd: Properties, pairs: dict[tuple[int, int], int]) -> None:
    """Assert the assumptions of the kernels; they hold in 15.0.0 and must be checked again in another version."""
    seconds = {second for _, second in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for target in ucd.nfkc_casefold.values():
        assert len(target) < 32, "the length of a mapping has 5 bits"
        assert not any(part in ucd.nfkc_casefold for part in target), "NFKC_CF is idempotent"
    for composite in pairs.values():
        assert composite not in ucd.nfkc_casefold, "composing never makes a code point that NFKC_CF changes"
    for code_point in ucd.category:
        if code_point in ucd.nfkc_casefold:
            continue
        full = full_decomposition(code_point, ucd.decomposition)
        assert len(full) <= 4
        assert not any(part in ucd.nfkc_casefold for part in full)
        check = ucd.nfc_quick_check.get(code_point, "Y")
        assert check != "N", "NFC_QC=No never survives NFKC_CF"
        if check == "Y" and code_point not in ucd.ccc:
            # hence the text can be cut before it (UAX #15, section 9.1) ...
            assert full[0] not in ucd.ccc
            assert full[0] not in seconds
        if code_point in seconds:
            assert check == "M", "... and every second part of a pair is seen by the quick check"


def token_flags(code_point: int, ucd: Properties) -> int:
    """Return the flag bits of the tokeniser and of white space."""
    flags = 0
    category = ucd.category.get(code_point, "Cn")
    if category[0] in "LMN" or category == "Pc":
        flags |= kernel.TOKEN
        if ucd.script.get(code_point) in SPACELESS_SCRIPTS:
            flags |= kernel.SPACELESS
    if category[0] == "M" and ucd.grapheme_break.get(code_point) in CONTINUATION_BREAKS:
        flags |= kernel.CONTINUATION
    if category == "Pc":
        flags |= kernel.CONNECTOR
    if code_point in ucd.white_space:
        flags |= kernel.WHITE_SPACE
    if category not in ("Cn", "Cs"):
        flags |= kernel.ASSIGNED
    return flags


def canonical(ucd: Properties) -> Properties:
    """Return the properties under which the tables are those of NFC: what is never in NFC is mapped."""
    never = (code_point for code_point, check in ucd.nfc_quick_check.items() if check == "N")
    mapped = {each: full_decomposition(each, ucd.decomposition) for each in never}
    return ucd._replace(nfkc_casefold=mapped, category=dict.fromkeys(ucd.category, "Zs"), script={})


def place_of(part: list[int], whole: list[int]) -> int:
    """Return where ``whole`` has ``part``; it is appended if it is nowhere."""
    for place in range(1, len(whole) - len(part) + 1):
        if whole[place : place + len(part)] == part:
            return place
    whole += part
    return len(whole) - len(part)


def make_records(ucd: Properties) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return (records uint32[0x110000], pool uint32[], decompositions uint32[])."""
    records = np.zeros(CODE_POINTS, np.uint32)
    pool: list[int] = []
    pooled: dict[tuple[int, ...], int] = {}
    decompositions: list[int] = [0]  # offset 0 means "none"
    full_of = {each: full_decomposition(each, ucd.decomposition) for each in ucd.category}
    for full in sorted(full_of.values(), key=len, reverse=True):  # the long ones have most of the short ones
        if len(full) > 1:
            place_of(full, decompositions)
    for code_point in sorted(set(ucd.category) | set(ucd.nfkc_casefold)):
        record = token_flags(code_point, ucd)
        target = ucd.nfkc_casefold.get(code_point)
        if target is not None and len(target) == 1:
            record |= kernel.MAPPED | target[0] << kernel.PAYLOAD
        elif target is not None:
            key = tuple(target)
            if key not in pooled:
                pooled[key] = len(pool)
                pool += target
            record |= kernel.MAPPED | kernel.TO_POOL | (pooled[key] << 5 | len(target)) << kernel.PAYLOAD
        else:
            ccc = ucd.ccc.get(code_point, 0)
            maybe = ucd.nfc_quick_check.get(code_point, "Y") == "M"
            full = full_of[code_point]
            offset = place_of(full, decompositions) << 2 | len(full) - 1 if len(full) > 1 else 0
            assert offset < 1 << 13
            record |= (kernel.CHECK if ccc or maybe else 0) | (kernel.MAYBE if maybe else 0)
            record |= (offset << 8 | ccc) << kernel.PAYLOAD
        records[code_point] = record
    return records, np.array(pool, np.uint32), np.array(decompositions, np.uint32)


def two_stages(records: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return (block_of uint16[0x110000 >> SHIFT], blocks uint32[]): equal blocks are stored once."""
    size = 1 << kernel.SHIFT
    numbers: dict[bytes, int] = {}
    block_of = [numbers.setdefault(block.tobytes(), len(numbers)) for block in records.reshape(-1, size)]
    blocks = np.frombuffer(b"".join(numbers), np.uint32)
    return np.array(block_of, np.uint16), blocks


def hash_pairs(pairs: dict[tuple[int, int], int]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the open-addressing table of the pairs (keys int64[], values uint32[]; key 0: empty slot)."""
    keys = np.zeros(PAIR_SLOTS, np.int64)
    values = np.zeros(PAIR_SLOTS, np.uint32)
    for (first, second), composite in sorted(pairs.items()):
        slot = kernel.pair_slot(first, second, PAIR_SLOTS)
        while keys[slot]:
            slot = (slot + 1) % PAIR_SLOTS
        keys[slot] = first << 21 | second
        values[slot] = composite
    return keys, values


def tables_of(ucd: Properties, prefix: str) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of ``UnicodeTables``, by their names after a prefix."""
    pairs = primary_composites(ucd)
    check_assumptions(ucd, pairs)
    records, pool, decompositions = make_records(ucd)
    arrays = (*two_stages(records), pool, decompositions, *hash_pairs(pairs))
    names = ("block_of", "blocks", "pool", "decompositions", "pair_keys", "pair_values")
    return {f"{prefix}{name}": array for name, array in zip(names, arrays, strict=True)}


def write_tables(ucd_folder: Path, out: Path) -> None:
    """Read the UCD below ``ucd_folder`` and write the tables to the file ``out``."""
    ucd = read_properties(ucd_folder)
    version = np.frombuffer(UNICODE_VERSION.encode("ascii"), np.uint8)
    with out.open("wb") as file:  # numpy stamps every member 1980-01-01: the bytes do not depend on the day
        np.savez_compressed(file, version=version, **tables_of(ucd, ""), **tables_of(canonical(ucd), "nfc_"))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write the Unicode tables of neardup.")
    parser.add_argument("--ucd", type=Path, default=Path("/usr/share/unicode"), help="folder of the UCD")
    parser.add_argument("--out", type=Path, default=TABLE_FILE, help="file to write")
    args = parser.parse_args()
    write_tables(args.ucd, args.out)
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
