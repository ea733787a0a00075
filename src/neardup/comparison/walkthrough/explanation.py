"""Compute the textbook tables of shingling and MinHash for a few small documents."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, TypedDict, Unpack

import numpy as np

from neardup.comparison.walkthrough import chapters, record
from neardup.comparison.walkthrough.families import FAMILIES, NOTHING, TAKERS, Family, Given, Hashed, hash_mod_p
from neardup.display import counted
from neardup.errors import InputError, SettingError
from neardup.io.inputs import choose_columns, open_documents
from neardup.settings import Settings
from neardup.tables import Bools, UInt64s
from neardup.text.sketch import estimate, whole_number
from neardup.unicode import Unit, shingles, tokens

EXAMPLE = (
    "The night is dark and the moon is red.",
    "I can see moon is red, the night is dark.",
    "The moon in the night is red.",
)
"""Three sentences of a published walk-through; seed 1 draws the coefficients used there."""

DOCUMENTS, CHARACTERS, ROWS, SLOTS = 10, 1_000_000, 10_000, 1 << 16
"""The most documents, characters of text in all, distinct shingles, and slots."""
VALUES = 20_000_000
"""The most values of all rows under all functions: they take 160 MB."""
FIRST_ROW = 1_000_000_000
"""The largest number of the first row: with all others it fits 32 bits."""
BEGINNING = 200
LETTERS = "ABCDEFGHIJ"


class Explanation(record.ExplanationRecord):
    """The result of :func:`explain`: tables that print as text and render in a notebook."""

    def text(self, width: int = 80) -> str:
        """Return all tables as text in lines of at most ``width`` columns (72 or more)."""
        return "\n".join(chapters.text(self, width))

    def __str__(self) -> str:
        return self.text()

    def html(self) -> str:
        """Return a self-contained page of all tables, with the error bars as pictures, and no script."""
        return chapters.page(self)

    def _repr_html_(self) -> str:
        return chapters.html(self)


class HashFunctions(TypedDict, total=False):
    """The hash functions of :func:`explain`: by default four of mod-p, drawn with seed 1."""

    family: str | Sequence[str]
    slots: int | Sequence[int] | None
    seed: int
    coefficients: Given | None
    orders: Given | None
    modulus: int | None


def explain(
    documents: Any,
    *,
    length: int = 3,
    unit: Unit = "word",
    first_row: int = 1,
    band_rows: int | None = None,
    **functions: Unpack[HashFunctions],
) -> Explanation:
    """Compute the textbook tables of shingling and MinHash for two to ten small documents.

    ``documents`` accepts the same inputs as ``find``; a list of str contains the texts themselves. Shingles are
    ``length`` ``unit``s (default: three words, as in textbooks; a run defaults to five). Their rows are numbered
    from ``first_row``. ``family`` is mod-p, multiply-shift, classic, one-permutation or permutations, or several
    of them; ``slots`` is the number of hash functions (4), or several numbers. ``seed`` draws the functions;
    ``coefficients``, pairs (a, b), sets those of mod-p or multiply-shift, ``modulus`` the p of mod-p (default:
    the smallest prime above the row numbers), and ``orders``, lists of all row numbers, the permutations.
    ``band_rows`` splits the signatures into bands of that many rows; by default, for one family and one number of
    slots, as many as find half of the pairs of resemblance .5. Raises SettingError, InputError.

    >>> tables = explain(EXAMPLE)
    >>> tables
    Explanation(3 documents, 16 shingles; mod-p 4)
    >>> tables.drawn[0].functions[0], tables.drawn[0].signatures.tolist()
    ('(4·x + 9) mod 17', [[1, 0, 2], [1, 0, 5], [1, 1, 0], [2, 3, 0]])
    >>> [round(pair.resemblance, 2) for pair in tables.pairs]
    [0.25, 0.09, 0.08]
    """
    Settings.of(length=length, unit=unit)
    chosen = _chosen(**functions)
    whole_number("first_row", first_row, 0, FIRST_ROW)
    band_rows = _band_rows(band_rows, chosen.families, chosen.counts)
    named = read_small(documents, least=2)
    sets = [shingles(text, length, unit) for _, text in named]
    rows = sorted(set().union(*sets))
    if len(rows) > ROWS:
        raise _too_much_error(f"The documents have {len(rows):,} distinct shingles", f"At most {ROWS:,}")
    matrix = np.array([[row in own for own in sets] for row in rows], np.bool_).reshape(len(rows), len(sets))
    pairs = tuple(_exact(matrix, a, b) for a, b in combinations(range(len(sets)), 2))
    hashed = chosen.draw(np.arange(first_row, first_row + len(rows), dtype=np.uint64))
    drawn = tuple(_draw(name, values, matrix, pairs, band_rows) for name, values in hashed)
    return Explanation(
        documents=tuple(
            record.ShownDocument(LETTERS[i], name, text[:BEGINNING], len(tokens(text)), len(sets[i]))
            for i, (name, text) in enumerate(named)
        ),
        unit=unit,
        length=length,
        seed=chosen.seed,
        first_row=first_row,
        shingles=tuple((" " if unit == "word" else "").join(row) for row in rows[: record.SHOWN_ROWS]),
        rows=len(rows),
        held=matrix[: record.SHOWN_ROWS],
        pairs=pairs,
        drawn=drawn,
        chunks=record.contributions(length) if unit == "word" else (),
        notes=tuple(_remarks(sets, rows, length, max(chosen.counts))),
    )


def likely_rows(slots: int) -> int:
    """Return the most rows of a band that make a pair of resemblance .5 a candidate with probability .5 or more.

    >>> likely_rows(4), likely_rows(16), likely_rows(128)
    (1, 2, 4)
    """
    fitting = (rows for rows in range(slots, 1, -1) if record.probability_of(0.5, rows, slots // rows) >= 0.5)
    return next((rows for rows in fitting if slots % rows == 0), 1)


@dataclass(frozen=True)
class _Chosen:
    """The families by name, the numbers of slots, and the seed or the ``given`` functions."""

    families: Mapping[str, Family]
    counts: tuple[int, ...]
    seed: int
    given: Given | None

    def draw(self, numbers: UInt64s) -> Iterator[tuple[str, Hashed]]:
        """Yield the values of rows (uint64[n]) for each family and number of slots."""
        if len(numbers) * max(self.counts) > VALUES:
            most = max(self.counts)
            values = f"{len(numbers):,} rows have {len(numbers) * most:,} values under {most:,} functions"
            raise SettingError(values, f"At most {VALUES:,}", "Choose fewer slots, or shorter documents")
        for name, family in self.families.items():
            for slots in self.counts:
                yield name, family(numbers, slots, self.seed, self.given)


def _chosen(
    *,
    family: str | Sequence[str] = "mod-p",
    slots: int | Sequence[int] | None = None,
    seed: int = 1,
    coefficients: Given | None = None,
    orders: Given | None = None,
    modulus: int | None = None,
) -> _Chosen:
    """Return the checked functions of ``HashFunctions``. Raises TypeError for another name."""
    families = _families(family, {"coefficients": coefficients, "orders": orders}, modulus)
    given = orders if coefficients is None else coefficients
    whole_number("seed", seed, 1, 2**32 - 1)
    return _Chosen(families, _counts(slots, given), seed, given)


def _band_rows(given: int | None, families: Collection[str], counts: Sequence[int]) -> int | None:
    """Return the rows of a band; None if none are shown, as for several families or numbers of slots."""
    if given is not None:
        whole_number("band_rows", given, 1, min(counts))
        return given
    return likely_rows(counts[0]) if len(families) == len(counts) == 1 else None


def _families(
    family: str | Sequence[str], given: Mapping[str, Given | None], modulus: int | None
) -> dict[str, Family]:
    """Return the requested families by name, each once; all for "all"."""
    chosen = (family,) if isinstance(family, str) else tuple(family)
    names = tuple(FAMILIES) if chosen == ("all",) else tuple(dict.fromkeys(chosen))
    unknown = next((name for name in names if name not in FAMILIES), None)
    if unknown is not None or not names:
        raise SettingError(
            f"The family of hash functions is {unknown!r}" if names else "No family of hash functions was given",
            f"Any of {', '.join(FAMILIES)}, or all",
        )
    for kind, functions in given.items():
        if functions is not None and (len(names) > 1 or names[0] not in TAKERS[kind]):
            raise SettingError(
                f"{kind.capitalize()} were given for {', '.join(names)}",
                f"{kind.capitalize()} of one family, {' or '.join(TAKERS[kind])}",
                f"Leave the {kind} out, or choose such a family",
            )
    families = {name: FAMILIES[name] for name in names}
    if modulus is not None:
        whole_number("modulus", modulus, 2, 2**32 - 1)
        if "mod-p" not in names:
            raise SettingError(f"A modulus was given for {', '.join(names)}", "The modulus of mod-p")
        families["mod-p"] = partial(hash_mod_p, modulus=modulus)
    return families


def _counts(slots: int | Sequence[int] | None, given: Given | None) -> tuple[int, ...]:
    """Return the requested numbers of slots, each once; the number of functions if these are given."""
    if given is not None and slots not in (None, len(given), [len(given)]):
        raise SettingError(
            f"{counted(len(given), 'hash function')} given for other numbers of slots",
            "One function for each slot",
            "Leave the number of slots out",
        )
    if slots is None:
        slots = 4 if given is None else len(given)
    counts = tuple(dict.fromkeys([slots] if isinstance(slots, int | np.integer) else slots))
    for count in counts or (0,):
        whole_number("slots", count, 1, SLOTS)
    return counts


def read_small(documents: Any, *, least: int = 0, most: int = DOCUMENTS) -> list[tuple[str, str]]:
    """Return the name and text of each document that ``find`` would read.

    Raises InputError for fewer than ``least`` or more than ``most`` documents, and for large ones.
    """
    source = open_documents(documents)
    if source.size_bytes is not None and source.size_bytes > 4 * CHARACTERS:
        raise _too_much_error("The documents are large", f"At most {CHARACTERS:,} characters in all")
    chosen = choose_columns(source, None, None)
    columns = [name for name in (chosen.text, chosen.id) if name is not None]
    named: list[tuple[str, str]] = []
    for chunk in source.chunks(None, columns):
        read = chunk.read(columns)
        if read.problems:
            raise InputError(f"A document cannot be read: {read.problems[0].reason}")
        texts = [_text(value) for value in read.table[chosen.text].to_pylist()]
        first = len(named) + 1
        ids = read.table[chosen.id].to_pylist() if chosen.id else [f"text {first + i}" for i in range(len(texts))]
        named += [(str(id), text) for id, text in zip(ids, texts, strict=True)]
        if len(named) > most or sum(len(text) for _, text in named) > CHARACTERS:
            raise _too_much_error(
                f"There are more than {most} documents, or more than {CHARACTERS:,} characters",
                f"From 2 to {most} small documents",
            )
    if len(named) < least:
        raise InputError(
            f"There {'is only one document' if named else 'is no document'}",
            f"From {least} to {most} small documents",
            "Name another one",
        )
    return named


def _too_much_error(given: str, allowed: str) -> InputError:
    return InputError(given, allowed, "Use neardup group, which accepts any number of documents")


def _text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


def _exact(matrix: Bools, a: int, b: int) -> record.Exact:
    shared = int((matrix[:, a] & matrix[:, b]).sum())
    return record.Exact(a, b, shared, int(matrix[:, a].sum()), int(matrix[:, b].sum()))


def _draw(
    name: str, hashed: Hashed, matrix: Bools, pairs: Sequence[record.Exact], band_rows: int | None
) -> record.DrawnHashes:
    slots = hashed.values.shape[1]
    columns = [hashed.signature(column) for column in matrix.T]
    signatures = np.stack([values for values, _ in columns], axis=1)
    matches = tuple(int((signatures[:, pair.a] == signatures[:, pair.b]).sum()) for pair in pairs)
    kept = slice(record.SHOWN_ROWS), slice(record.SHOWN_FUNCTIONS)
    return record.DrawnHashes(
        family=name,
        slots=slots,
        says=hashed.says,
        functions=hashed.functions[: record.SHOWN_FUNCTIONS],
        permutations=hashed.values[kept].copy(),
        permutes=hashed.permutes,
        chosen=None if hashed.chosen is None else hashed.chosen[kept].copy(),
        signatures=signatures,
        origins=np.stack([rows for _, rows in columns], axis=1),
        matches=matches,
        estimates=tuple(estimate(equal, slots) for equal in matches),
        bands=None if band_rows is None else _bands_of(signatures, band_rows),
        caution=hashed.caution,
    )


def _bands_of(signatures: UInt64s, rows: int) -> record.Bands:
    """Put documents with equal values in all rows of a band into one of its buckets; empty documents into none."""
    slots, documents = signatures.shape
    bands = []
    for start in range(0, slots - rows + 1, rows):
        buckets: dict[tuple[int, ...], list[int]] = {}
        for document in range(documents):
            values = tuple(signatures[start : start + rows, document].tolist())
            if values[0] != NOTHING:
                buckets.setdefault(values, []).append(document)
        bands.append(tuple(tuple(bucket) for bucket in buckets.values()))
    return record.Bands(rows, slots % rows, tuple(bands))


def _remarks(
    sets: Sequence[Collection[object]], rows: Sequence[Collection[str]], length: int, slots: int
) -> Iterator[str]:
    """Yield remarks on special cases and on parts that the tables omit."""
    if not all(sets):
        yield "Documents without a shingle count as equal to each other and nothing else; they are in no bucket."
    if any(len(row) < length for row in rows):
        yield "A document shorter than a shingle is one shingle, all of it."
    if len(rows) > record.SHOWN_ROWS:
        yield f"The first {record.SHOWN_ROWS} of {len(rows):,} different shingles are shown; all are counted."
    if slots > record.SHOWN_FUNCTIONS:
        yield f"At most {record.SHOWN_FUNCTIONS} hash functions are shown; all are counted."
