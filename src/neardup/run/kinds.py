"""The kinds of difference of the reported pairs and copies: texts read in portions, pairs judged in threads."""

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.comparison.kinds import IDENTICAL, KINDS
from neardup.display import printable
from neardup.join.rows import Rows
from neardup.run.pipeline import Meter
from neardup.runtime import ordered_map
from neardup.tables import Int64s, column, distinct
from neardup.text.characters import canonical

if TYPE_CHECKING:
    from neardup.text.units import Reading

Found = TypeVar("Found")

KIND = "kind"
"""The column of the tables of pairs and of copies."""
UNKNOWN = "not determined"
"""The name under which pairs without a kind are counted."""

HELD_BYTES = 1 << 28
"""Bytes of text held at a time, except that two documents are always held together."""
MOST_BYTES = 1 << 24
"""Pairs with more text than this are not judged: a thread needs up to forty times as much memory."""
MOST_DIFFERENCES = 10_000
"""Exact copies of the same words whose first difference is looked for: their texts are read once more."""
AROUND, LONGEST = 24, 60
"""Characters before and after a difference that may be of the same word, and most characters shown of it."""
_PAIRS = 16
"""Pairs that one task judges."""


def with_kinds(table: pa.Table, pairs: pa.Table, rows: Rows, threads: int, meter: Meter) -> pa.Table:
    """Return the table of pairs with the column ``kind``.

    ``pairs`` are the same pairs by document number (columns a, b). A kind is null where it cannot be determined.
    """
    with meter.stage("kinds", pairs.num_rows, "pairs") as advance:
        a, b = (rows.unique[column(pairs, end)] for end in ("a", "b"))
        kinds = _kinds_of(a, b, rows, threads, advance)
    return table.append_column(KIND, _names(kinds))


def _kinds_of(
    a: Int64s, b: Int64s, rows: Rows, threads: int, advance: Callable[[int], object]
) -> NDArray[np.int8]:
    """Return the number of the kind of each pair of rows, −1 where it cannot be determined."""
    kinds = np.full(len(a), -1, np.int8)
    for task, answers in _over_pairs(a, b, rows, threads, _judged):
        kinds[task] = answers
        advance(len(task))
    return kinds


def _names(kinds: NDArray[np.int8]) -> pa.Array:
    return pa.array(KINDS, pa.string()).take(pa.array(kinds, mask=kinds < 0))


def _over_pairs(
    a: Int64s, b: Int64s, rows: Rows, threads: int, judge: Callable[..., Iterator[Found]]
) -> Iterator[tuple[Int64s, list[Found]]]:
    """Yield the places of some pairs of rows, and the answers of ``judge(rows, other rows, texts by row)``."""
    for inside in _portions(a, b, rows.bytes):
        texts = _texts(rows, distinct(a[inside], b[inside]))
        tasks = [inside[first : first + _PAIRS] for first in range(0, len(inside), _PAIRS)]

        def work(task: Int64s, texts: dict[int, bytes] = texts) -> list[Found]:
            return list(judge(a[task].tolist(), b[task].tolist(), texts))

        yield from zip(tasks, ordered_map(work, tasks, threads), strict=True)


def first_differences(copies: Int64s, of: Int64s, rows: Rows, threads: int) -> dict[int, str]:
    """Return the first difference of rows (ascending) from others ``of`` the same words, in words, by row.

    The first MOST_DIFFERENCES are read; very long texts are not.
    """
    copies, of = copies[:MOST_DIFFERENCES], of[:MOST_DIFFERENCES]
    in_words: dict[int, str] = {}
    for task, texts in _over_pairs(of, copies, rows, threads, _first_differences):
        in_words |= zip(copies[task].tolist(), texts, strict=True)
    return {row: text for row, text in in_words.items() if text}


def _first_differences(others: list[int], own: list[int], texts: dict[int, bytes]) -> Iterator[str]:
    """Yield the first difference of each pair, "" where none is looked for."""
    from neardup.text.characters import KINDS as KINDS_OF_CHARACTERS  # imported late: other runs need none of it
    from neardup.text.characters import differences
    from neardup.text.units import read

    for row, other in zip(own, others, strict=True):
        if len(texts[row]) + len(texts[other]) > MOST_BYTES:
            yield ""
            continue
        here, there = (read(texts[one].decode("utf-8", "replace")) for one in (row, other))
        if len(here.words) != len(there.words):  # the same tokens of a tokenizer, or the same characters
            yield ""
            continue
        first = next(differences(here.text, there.text, here.words.spans, there.words.spans), None)
        if first is None:
            yield ""
            continue
        excerpts = [_around(side.text, *place) for side, place in ((here, first.a), (there, first.b))]
        yield "{}: “{}” here, “{}” there".format(KINDS_OF_CHARACTERS[first.kind], *excerpts)


def _around(text: str, begin: int, end: int) -> str:
    """Return characters [begin, end) of a text with the rest of the words that they touch, on one line."""
    low, high = max(begin - AROUND, 0), end + AROUND
    before, after = text[low:begin].split(), text[end:high].split()
    left = before[-1] if before and not text[begin - 1].isspace() else ""
    right = after[0] if after and not text[end : end + 1].isspace() else ""
    whole = " ".join(f"{left}{text[begin:end]}{right}".split())
    return printable(whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…")


def with_kinds_of_copies(table: pa.Table, copies: Int64s, rows: Rows, meter: Meter) -> pa.Table:
    """Return the table of exact copies with the column ``kind``.

    ``copies`` are the rows of the table. One pass keeps a digest of each text; only copies with another digest are
    compared: they have the same words, but other characters.
    """
    involved = distinct(copies, rows.copy_of[copies])
    with meter.stage("kinds", len(involved), "documents") as advance:
        digests = np.empty((len(involved), 2), np.uint64)
        for k, chunk_digests in enumerate(
            rows.corpus.with_texts(involved, lambda _, texts: _digest(_bytes(texts)))
        ):
            digests[k] = np.frombuffer(chunk_digests, np.uint64)
            advance(1)
    own, first = (digests[np.searchsorted(involved, those)] for those in (copies, rows.copy_of[copies]))
    kinds = np.full(len(copies), KINDS.index(IDENTICAL), np.int8)
    differ = np.flatnonzero((own != first).any(axis=1))
    kinds[differ] = _kinds_of(rows.copy_of[copies[differ]], copies[differ], rows, 1, lambda _: None)
    return table.append_column(KIND, _names(kinds))


def _digest(text: bytes) -> bytes:
    plain = canonical(text.decode("utf-8", "replace"))
    return hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def counts_of(table: pa.Table) -> dict[str, int] | None:
    """Return the numbers of the kinds of the pairs; None if they were not asked for."""
    if KIND not in table.column_names:
        return None
    counts = {name: pc.sum(pc.equal(table[KIND], name)).as_py() or 0 for name in KINDS}
    return {**counts, UNKNOWN: table[KIND].null_count}


def _portions(a: Int64s, b: Int64s, sizes: Int64s) -> Iterator[Int64s]:
    """Yield the pairs of each two blocks of rows; a block has about half of HELD_BYTES of text."""
    involved = distinct(a, b)
    if not len(involved):
        return
    block = np.cumsum(sizes[involved]) // (HELD_BYTES // 2)
    of_a, of_b = (block[np.searchsorted(involved, rows)] for rows in (a, b))
    key = of_a * (int(block[-1]) + 1) + of_b
    order = np.argsort(key, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def _texts(rows: Rows, wanted: Int64s) -> dict[int, bytes]:
    """Return the texts of some rows (ascending), by row."""

    chunks = rows.corpus.with_texts(wanted, lambda _, texts: _bytes(texts))
    return dict(zip(wanted.tolist(), chunks, strict=True))


def _bytes(texts: pa.Array) -> bytes:
    """Return the first of the texts."""
    buffer = texts[0].as_buffer()
    return b"" if buffer is None else bytes(buffer)


def _judged(a: list[int], b: list[int], texts: dict[int, bytes]) -> Iterator[int]:
    """Yield the number of the kind of each pair, −1 where it cannot be determined."""
    from neardup.comparison.kinds.rules import kind_of  # imported late: other runs do not wait for its kernels
    from neardup.text.units import read

    last: tuple[int, Reading] | None = None
    for row, other in zip(a, b, strict=True):
        if len(texts[row]) + len(texts[other]) > MOST_BYTES:
            yield -1
            continue
        if last is None or last[0] != row:  # pairs are in order of a: a representative is read once
            last = row, read(texts[row].decode("utf-8", "replace"))
        name = kind_of(last[1], read(texts[other].decode("utf-8", "replace"))).name
        yield -1 if name is None else KINDS.index(name)
