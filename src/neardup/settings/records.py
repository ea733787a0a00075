"""The records of settings, and the table of all their fields.

Each field is declared once, in the record it belongs to, with its range, unit and help.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_type_hints

from neardup.settings import measures, rules
from neardup.settings.measures import MEASURES, OF_JOINS, WEIGHTED, WEIGHTED_ALIASES, aliases

PROCESS = 130_000_000
"""Bytes of a process that has read nothing: interpreter and libraries (measured on Linux: 127 to 135 MB)."""

CHUNK = 36_000_000
"""Bytes of a chunk of 8 MB in flight: the bytes themselves, the columns, the tokens (measured: 32 to 39 MB)."""

_CHUNKS = 3
"""Chunks that a limit counts. On two cores there are four, but the search holds none."""

_LEAST_SHARE = 20
"""A limit that does not even hold the process leaves a twentieth: the stages then hold as little as they can."""

JOIN_BYTES = 1_000_000_000
"""The bytes that an exact join may use in a run without a memory limit."""

JOIN_SHARE = 0.6
"""The share of the memory for documents that an exact join may use; the rest is for everything else."""

_OF_JOINS = dict.fromkeys(
    (*WEIGHTED, *WEIGHTED_ALIASES, *OF_JOINS), "Use neardup.join or neardup.similarity in Python, for sets"
)

_KEEP_EACH = rules.several(rules.Rule("", rules.keep_policy), least=1)

_ALLOWED = (
    "one-permutation:SLOTS, classic:SLOTS, or simhash:BITS,FEATURES,DISTANCE; what is left out has its default"
)

_HELP = (
    "How candidates are found. one-permutation: MinHash with fallback (fast); classic: MinHash by a·x+b (the "
    "reference); both with SLOTS numbers a signature, by default 128, with one-permutation a power of two. "
    "simhash: all pairs of fingerprints of BITS (64, the default, or 128) that differ in at most DISTANCE bits "
    "(by default 3), for texts that are almost identical. FEATURES, weighted by frequency: windows of N "
    "characters without white space (char:N, by default char:4) or without white space and punctuation (joined:N"
    "), word, or N words in a row (shingle:N)."
)


@dataclass(frozen=True)
class Shingles:
    """How a text becomes a set of shingles."""

    PANEL: ClassVar = rules.COMPARED

    unit: str = rules.setting(
        "word",
        rules.one_of("word", "char"),
        "Unit of a shingle: words (tokens), or characters for noisy OCR and short strings.",
    )
    length: int = rules.setting(
        5, rules.number(1, 64, "tokens or characters"), "Tokens (or characters) in a shingle."
    )


@dataclass(frozen=True)
class BaseTextSettings:
    """Which shingles do not count."""

    PANEL: ClassVar = rules.COMPARED

    ignore_common: float = rules.setting(
        0.0,
        rules.Rule(
            "a number from 0 to 0.999999, with at most six decimals, or a percentage such as 5%",
            lambda value: 0 <= value < 1 and value == round(value, 6),
            rules.of_share,
            rules.share_of,
        ),
        "Leave out shingles that are in more than this share of the different documents, and in at least three: "
        "templates, footers, licences. common.parquet lists them. 0: off.",
    )


@dataclass(frozen=True)
class Cleaning:
    """Which parts of a text do not count, and its tokens: features are made of these (``text/cleaning.py``)."""

    PANEL: ClassVar = rules.COMPARED

    tokenizer: str = rules.setting(
        "",
        rules.tokenizer_rule(),
        "Compare the tokens of a tokenizer in place of words: code (source code: names and literals count by "
        "their kind), or one that an installed package registers.",
    )
    mask: tuple[str, ...] = rules.setting(
        (),
        rules.masks_rule(),
        "Leave out the text that this regular expression matches, for example a date, an address or a greeting. "
        "May be repeated.",
        many=True,
        metavar="REGEX",
    )
    ignore_numbers: bool = rules.setting(
        False,
        rules.TRUE_OR_FALSE,
        "Leave out tokens that consist of digits.",
    )
    stop_words: str = rules.setting(
        "",
        rules.stop_words_rule(),
        "Leave out stop words: those of a language (en, de, …), which needs the extra stopwords, or the words in "
        "a file.",
    )

    @property
    def is_on(self) -> bool:
        """Whether the text to compare is another one than in the document."""
        return bool(self.tokenizer or self.mask or self.ignore_numbers or self.stop_words)


def names_of(*records: type) -> tuple[str, ...]:
    """Return the names of the settings of records.

    >>> names_of(Shingles)
    ('unit', 'length')
    """
    return tuple(field.name for record in records for field in dataclasses.fields(record))


CLEANING = names_of(Cleaning)
"""The settings that decide which text counts: runs, collections and comparisons have them alike."""

COMPARISON = names_of(Shingles, Cleaning)
"""The settings of ``compare`` that a run or a collection has, too."""


@dataclass(frozen=True)
class Sketch:
    """How a set of shingles becomes a signature."""

    PANEL: ClassVar = rules.SEARCH

    sketch: str = rules.setting(
        "one-permutation",
        rules.one_of("one-permutation", "classic", "simhash"),
        "MinHash family: one-permutation with fallback (fast), or classic a·x+b (the reference). Or simhash: "
        "candidates are all pairs of SimHash fingerprints within a distance, for texts that are almost identical.",
    )
    slots: int = rules.setting(
        128, rules.number(1, 4096), "Slots of a signature; with sketch one-permutation a power of two."
    )


@dataclass(frozen=True)
class SimHashing:
    """With sketch simhash: how a text becomes a fingerprint, and which fingerprints are compared."""

    PANEL: ClassVar = rules.SEARCH

    bits: int = rules.setting(
        64,
        rules.Rule(rules.WIDTHS_ALLOWED, lambda value: value in rules.WIDTHS),
        "With sketch simhash: bits of a fingerprint.",
    )
    features: str = rules.setting(
        "char:4",
        rules.Rule(
            f"char:N, joined:N, word or shingle:N, with N from 1 to {rules.LONGEST_FEATURE}",
            lambda value: bool(rules.features_of(value)),
            rules.of_features,
        ),
        "With sketch simhash: features to hash, weighted by frequency: windows of N characters without white "
        "space (char) or without white space and punctuation (joined), words, or N words in a row.",
    )
    distance: int = rules.setting(
        3,
        rules.Rule("a number from 0 to 255 and at most a quarter of the bits", lambda value: 0 <= value <= 255),
        "With sketch simhash: largest number of differing bits at which two fingerprints are compared.",
    )

    @property
    def in_words(self) -> str:
        """The rule for comparing a pair, in words.

        >>> SimHashing().in_words
        'Hamming distance at most 3 of 64-bit SimHash, features char:4'
        """
        return f"Hamming distance at most {self.distance} of {self.bits}-bit SimHash, features {self.features}"


def room_of(limit: int) -> int:
    """The bytes of a limit that are left for documents and pairs.

    >>> room_of(2_000_000_000), room_of(1_000_000)
    (1762000000, 50000)
    """
    return max(limit - PROCESS - _CHUNKS * CHUNK, limit // _LEAST_SHARE)


def join_bytes_of(limit: int | None) -> int:
    """The bytes that an exact join may use.

    >>> join_bytes_of(None), join_bytes_of(2_000_000_000)
    (1000000000, 1057200000)
    """
    return JOIN_BYTES if limit is None else round(JOIN_SHARE * room_of(limit))


@dataclass(frozen=True)
class SearchSettings:
    """Which pairs to search for, and how."""

    PANEL: ClassVar = rules.SEARCH

    method: str = rules.setting(
        "auto",
        rules.one_of("auto", "lsh", "exact"),
        "lsh: candidates by locality-sensitive hashing, found with the planned recall; exact: a join that misses "
        "no pair; auto: exact if it fits into memory and costs little more time, else lsh.",
    )
    measure: str = rules.setting(
        "resemblance",
        rules.one_of(*MEASURES, aliases=aliases(), elsewhere=_OF_JOINS),
        f"Similarity measure that the threshold applies to: {measures.definitions_of(MEASURES)}.",
        panel=rules.COMPARED,
    )
    matching: str = rules.setting(
        "literal",
        rules.one_of("literal", "information"),
        "How a chunk measure counts common text, in runs of at least as many tokens as a shingle has. literal: "
        "each token is matched once; information: text that repeats inside a document adds nothing.",
        panel=rules.COMPARED,
    )
    threshold: float = rules.setting(
        0.8,
        rules.similarity(0, "a number above 0 and at most 1"),
        "Smallest value of the measure for a pair; a pair exactly at the threshold is found.",
        panel=rules.COMPARED,
    )
    copies: str = rules.setting(
        "words",
        rules.one_of("words", "identical"),
        "Rows that are exact copies, one document. words: the same words in the same order; identical: the same "
        "characters but for white space and Unicode normal form, so that rows with the same words and other "
        "characters, such as a sign, are near copies with similarity 1.",
        panel=rules.COMPARED,
    )
    recall: float = rules.setting(
        0.99,
        rules.Rule(
            "a number from 0.5 to 0.999999, or a percentage such as 99%",
            lambda value: 0.5 <= value <= 0.999999,
            rules.of_share,
            rules.share_of,
        ),
        "Share of the pairs at the threshold that LSH is planned to find.",
    )
    memory: float = rules.setting(
        0.0,
        rules.memory_size(0.001, 1_000_000),
        "Memory of the whole process, which takes 240MB itself; the rest goes to files beside the output. An "
        "exact join may take .6 of the rest, at 16 bytes a shingle. none: no limit but 1GB for that join.",
        panel=rules.WORK,
        metavar="SIZE",
    )
    audit: int = rules.setting(
        0,
        rules.Rule("a number from 0 to 1,000,000 documents", lambda value: 0 <= value <= 1_000_000),
        "Number of documents, drawn by strata, to compare exactly with all others, which measures the recall and "
        "lists the missed pairs; 0: off.",
    )

    @property
    def limit(self) -> int | None:
        """The bytes that the whole process may use; None without a limit."""
        return round(self.memory * 1e9) or None

    @property
    def room(self) -> int | None:
        """The bytes of the limit that are left for documents and pairs; None without a limit."""
        return None if self.limit is None else room_of(self.limit)

    @property
    def join_bytes(self) -> int:
        """The bytes that an exact join may use."""
        return join_bytes_of(self.limit)

    @property
    def in_words(self) -> str:
        """The name of the measure in reports."""
        return MEASURES[self.measure].in_words(self.matching)


@dataclass(frozen=True)
class GroupSettings:
    """How pairs become groups, and the columns of the tables of pairs."""

    PANEL: ClassVar = rules.GROUPS

    groups: str = rules.setting(
        "principal",
        rules.one_of("principal", "components", "complete"),
        "principal: each member is at or above the threshold with the representative itself; components: "
        "linked through any chain of pairs; complete: any two members are a found pair.",
    )
    pairs: str = rules.setting(
        "needed",
        rules.one_of("needed", "all"),
        "needed: for a large cluster (more than 1,000 alike documents) only the pairs with the representative; "
        "all: every pair.",
        panel=rules.OUTPUT,
    )
    kinds: bool = rules.setting(
        False,
        rules.TRUE_OR_FALSE,
        "Add the kind of difference of each pair to pairs.parquet: sign or operator, case or punctuation only, "
        "numbers only, quoted reply, one is contained, one passage inserted/removed, moved, or wording; and of "
        "each exact copy to copies.parquet. Reads the texts once more.",
        panel=rules.OUTPUT,
    )


@dataclass(frozen=True)
class Relations:
    """Which documents may be pairs and copies of each other, by the values of columns.

    Values are strings, whole numbers, truth values or dates, and are compared as text. Rows without a value count
    as rows with one and the same value.
    """

    PANEL: ClassVar = rules.COMPARED

    within: tuple[str, ...] = rules.setting(
        (),
        rules.several(rules.Rule("names of columns, each once", bool)),
        "Compare only documents with the same value in this column, for example a language or a mailbox; others "
        "are never pairs, copies, or in one group. Given several times: all these columns count.",
        many=True,
        metavar="COLUMN",
    )
    across: str = rules.setting(
        "",
        rules.OPTIONAL_COLUMN,
        "Compare only documents with different values in this column, for example train and test; copies and near "
        "copies with the same value are kept.",
        metavar="COLUMN",
    )
    no_self: bool = rules.setting(
        False,
        rules.TRUE_OR_FALSE,
        "With a reference set: compare the documents with those of the reference set only, not with each other. "
        "Copies and near copies among them are kept.",
    )


@dataclass(frozen=True)
class Keep:
    """Which member of a group is kept, and the columns of kept documents about the others."""

    PANEL: ClassVar = rules.STAY

    keep: str | tuple[str, ...] = rules.setting(
        "longest",
        rules.Rule(
            "longest, first, last, digital, max:COLUMN, min:COLUMN, order:COLUMN=a,b,c, several policies in "
            "order, or none",
            lambda value: _KEEP_EACH.holds(value) and rules.keep_policies(value),
            lambda value: rules.of_keep(value, (*rules.KEEP_ORDERS, rules.KEEP_DIGITAL, rules.KEEP_NONE)),
        ),
        "Which document of a group is kept and represents it. Given several times: the next policy decides ties, "
        "and at last the input order. order: the listed values of a column come first, in this order. digital: "
        "files that a program wrote come first, then those of unknown origin, then scans (column origin). none: "
        "all documents of a connected component go, exact copies included, as for decontamination.",
        many=True,
        metavar="POLICY",
    )
    only_contained: float = rules.setting(
        0.0,
        rules.Rule(
            "a number from 0 to 1, or a percentage such as 90%",
            lambda value: 0 <= value <= 1,
            rules.of_share,
            rules.share_of,
        ),
        "Remove a near copy only if the kept document contains at least this share of its shingles; 0: off.",
    )
    direction: str = rules.setting(
        "new-in-old",
        rules.one_of("new-in-old", "old-in-new", "either"),
        "With measure containment and a reference set: which side has to be held in the other for a new document "
        "to go. new-in-old: the new document, as for excerpts of known texts; old-in-new: the reference document, "
        "as for test items in training documents.",
    )
    lose: float = rules.setting(
        1.0,
        rules.share("a number from 0 to 1"),
        "Remove a near copy only if at most this share of its shingles is lost, that is, in no document of its "
        "group that is kept; 0: lose nothing; 1: off.",
    )
    most_removed: float = rules.setting(
        1.0,
        rules.share("a number from 0 to 1"),
        "Write nothing if more than this share of the documents of any input file, or of any value of sources, "
        "would go; 1: off.",
    )
    empty: str = rules.setting(
        "keep",
        rules.one_of("keep", "drop", "one"),
        "Treatment of documents without text, which cannot be compared: keep all; drop all; or keep one, as if "
        "the others were its exact copies.",
    )
    count: bool = rules.setting(
        False,
        rules.TRUE_OR_FALSE,
        "Add to each kept document the number of removed documents it represents: copies, which are exact_copies "
        "and near_copies together.",
    )
    sources: str = rules.setting(
        "",
        rules.OPTIONAL_COLUMN,
        "With count: add the distinct values of this column among a kept document and those it represents, as the "
        "list sources.",
        metavar="COLUMN",
    )


@dataclass(frozen=True)
class ReadingSettings:
    """How bytes become texts and columns; an automatic value is detected for each file."""

    PANEL: ClassVar = rules.INPUT

    encoding: str = rules.setting(
        "auto",
        rules.Rule(
            "auto, or an encoding that Python supports, such as utf-8, cp1252 or shift_jis", rules.is_encoding
        ),
        "Encoding of text files, CSV and JSONL. auto: by byte order mark, else UTF-8 if the bytes are valid, "
        "else as charset-normalizer detects, file by file.",
    )
    delimiter: str = rules.setting(
        "auto",
        rules.Rule(
            "auto, tab, or one character", lambda value: value in ("auto", "tab") or rules.is_delimiter(value)
        ),
        "Separator of the fields of CSV. auto: comma, in .tsv files tab, unless the first lines show another one.",
    )
    pages: str = rules.setting(
        "all",
        rules.one_of("all", "main"),
        "Text of web pages. all: everything that is visible; main: the main content, without menus, footers and "
        "the like, by trafilatura (the extra web).",
    )
    text_suffix: str = rules.setting(
        "auto",
        rules.Rule("auto, or a suffix such as txt or caption.txt", rules.is_suffix),
        "Suffix of the text in samples of several files with one stem, whose files are kept or removed together. "
        "auto: the only file that is a document, beside labels, images and the like.",
    )
    query: str = rules.setting(
        "",
        rules.Rule("a query in the SQL of the database", lambda value: isinstance(value, str)),
        "The input is a database: postgresql://USER@HOST/DATABASE, or a file of SQLite or DuckDB; this query "
        "returns the documents (the extra sql).",
        metavar="SQL",
    )

    @property
    def of_references(self) -> ReadingSettings:
        """The same for references and base texts, which are files."""
        return replace(self, query="")


@dataclass(frozen=True)
class Work:
    """How the machine is used."""

    PANEL: ClassVar = rules.WORK

    threads: int = rules.setting(0, rules.number(0, 1024), "Worker threads; 0: one per core.")


@dataclass(frozen=True)
class SampleSettings:
    """Which shingles of each document a collection stores for its searches (``sketch/samples.py``)."""

    PANEL: ClassVar = rules.COMPARED

    # Measured on documents of 3 kB: the postings take a tenth of the bytes of the text. A shingle look-up that the
    # sample cannot serve uses the full-text index, so a denser sample would buy speed for bytes, not completeness.
    scale: int = rules.setting(5, rules.number(1, 1 << 32), "Sample one shingle in this many.")
    floor: int = rules.setting(8, rules.number(1, 1 << 24), "Least number of shingles to sample.")


RECORDS: Mapping[str, Any] = {
    "shingles": Shingles,
    "cleaning": Cleaning,
    "base": BaseTextSettings,
    "sketch": Sketch,
    "simhash": SimHashing,
    "search": SearchSettings,
    "grouping": GroupSettings,
    "relations": Relations,
    "keep": Keep,
    "reading": ReadingSettings,
    "work": Work,
}


def _fields(records: Mapping[str, Any]) -> Iterator[rules.Field]:
    for record, kind in records.items():
        types = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            described = {**field.metadata, "panel": field.metadata["panel"] or kind.PANEL}
            of_one = str if described["many"] else types[field.name]
            yield rules.Field(record, field.name, field.default, of_one, **described)


FIELDS: Mapping[str, rules.Field] = {field.name: field for field in _fields(RECORDS)}
"""Every setting of a run by name; names are unique over all records."""

COLLECTION_FIELDS: Mapping[str, rules.Field] = {
    "length": replace(FIELDS["length"], help="Tokens in a shingle."),
    "slots": replace(FIELDS["slots"], default=64),
    **{field.name: field for field in _fields({"samples": SampleSettings})},
    **{name: FIELDS[name] for name in CLEANING},
}
"""Every setting of a collection by name: some of those of a run, and the sampling."""

SELECTION = (*names_of(Cleaning, BaseTextSettings), "within", "across", "keep", "lose", "count", "sources")
"""The settings of advice that decide what counts, which documents may be pairs, and which one stays."""

IN_SKETCH = ("slots", *names_of(SimHashing))
"""The settings that the command line has as parts of ``--sketch``."""

_NAMES: tuple[str, ...] = FIELDS["sketch"].rule.choices


def sketch_settings(text: str) -> dict[str, Any]:
    """Return the settings that a text names, by name; parts that are left out are no keys.

    Raises ValueError if it names none.

    >>> sketch_settings("simhash:64,char:4,3")
    {'sketch': 'simhash', 'bits': 64, 'features': 'char:4', 'distance': 3}
    >>> sketch_settings("simhash:64,3"), sketch_settings("classic:100")
    ({'sketch': 'simhash', 'bits': 64, 'distance': 3}, {'sketch': 'classic', 'slots': 100})
    """
    name, colon, rest = text.partition(":")
    if name not in _NAMES or (colon and not rest):
        raise ValueError(text)
    parts = [part.strip() for part in rest.split(",")] if colon else []
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit()]
    others = [part for part in parts if not (part.isascii() and part.isdigit())]
    of_numbers = ("bits", "distance") if name == "simhash" else ("slots",)
    of_others = ("features",) if name == "simhash" else ()
    if len(numbers) > len(of_numbers) or len(others) > len(of_others):
        raise ValueError(text)
    given = {**dict(zip(of_numbers, numbers, strict=False)), **dict(zip(of_others, others, strict=False))}
    return {"sketch": name, **{part: given[part] for part in IN_SKETCH if part in given}}


def sketch_text(values: Mapping[str, Any]) -> str:
    """Return the text for settings by name; defaults are left out where they may be.

    >>> sketch_text({"sketch": "simhash", "distance": 6}), sketch_text({"slots": 256}), sketch_text({})
    ('simhash:64,6', 'one-permutation:256', 'one-permutation')
    """
    name = values.get("sketch", FIELDS["sketch"].default)
    return ":".join((name, ",".join(_parts(name, values)))).rstrip(":")


def _parts(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    changed = {part for part in IN_SKETCH if values.get(part, FIELDS[part].default) != FIELDS[part].default}
    for part in IN_SKETCH[1:] if name == "simhash" else IN_SKETCH[:1]:
        if part in changed or (part == "bits" and "distance" in changed):  # the first number is of the bits
            yield str(values.get(part, FIELDS[part].default))


def _holds(text: Any) -> bool:
    try:
        return bool(sketch_settings(text))
    except ValueError:
        return False


def _hint(text: Any) -> str:
    name = str(text).partition(":")[0]
    return "" if name in _NAMES else f"There is no sketch {name!r}"


OPTION_FIELDS: Mapping[str, rules.Field] = {
    name: replace(field, rule=rules.Rule(_ALLOWED, _holds, _hint, choices=_NAMES), help=_HELP, metavar="SKETCH")
    if name == "sketch"
    else field
    for name, field in FIELDS.items()
    if name not in IN_SKETCH
}
"""The settings of a run as options of the command line: ``--sketch`` has five of them."""
