"""The options of the commands that read files: one record a command, its fields in the order of the help."""

# ruff: noqa: RUF009  the calls return fields

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from neardup.cli.option import (
    NEVER,
    REQUIRED,
    Declared,
    SettingOptions,
    all_settings,
    argument,
    option,
    setting,
    settings_of,
)
from neardup.cli.options import shared
from neardup.cli.typed_path import typed_path
from neardup.settings import CLEANING
from neardup.settings.panels import COMPARED, EARLIER, INPUT, OUTPUT, SEARCH, WORK

SELECTION = (*CLEANING, "ignore_common", "within", "across", "keep", "lose", "count", "sources")
"""The settings of ``plan`` that decide what counts, which documents may be pairs, and which one stays."""


@dataclass(frozen=True, kw_only=True)
class DedupOptions:
    """The options of ``neardup dedup``; ``explicit`` has the names of the given ones."""

    inputs: list[str] = shared.INPUTS_OR_FROM.field()
    out: Path | None = replace(
        shared.OUT,
        help="Folder for the results, written atomically; - writes the kept rows to standard output as JSONL, and "
        "reports to standard error. Required unless --dry-run is given.",
        read=typed_path,
    ).field()
    text: list[str] = shared.TEXT.field()
    id: str | None = shared.ID.field()
    settings: SettingOptions = all_settings()
    against: list[str] = replace(
        shared.AGAINST, help=f"{shared.AGAINST.help} Or folders that neardup fingerprint has written."
    ).field()
    against_text: list[str] = shared.AGAINST_TEXT.field()
    against_id: str | None = shared.AGAINST_ID.field()
    ignore: list[str] = shared.IGNORE.field()
    decisions: Path | None = option(
        "--decisions",
        None,
        "Follow the decisions that people made about the result in this folder: documents that are duplicates or "
        "not alike, that stay or go, and those that represent a group. Decisions that do not apply are listed.",
        "OUT",
        panel=EARLIER,
    )
    stored: Path | None = option(
        "--from",
        None,
        "Compare nothing: write the documents that stay after the review of the result in this folder, read again "
        "from its input. Only with -o, --inputs, --dry-run, --json and --overwrite.",
        "OUT",
        panel=EARLIER,
    )
    moved: list[str] = replace(
        shared.MOVED, help="With --from: the input where it is now, if it has moved. May be repeated."
    ).field()
    merged: Path | None = option(
        "--merged",
        None,
        "Compare nothing: the input is a part whose fingerprints were merged into the result in this folder; "
        "write the documents of the part that stay. Only with -o, --dry-run, --json and --overwrite.",
        "OUT",
        panel=EARLIER,
    )
    key: Path | None = replace(shared.KEY, help=f"With fingerprints in --against: {shared.KEY.help}").field()
    update: Path | None = option(
        "--update",
        None,
        "With fingerprints in --against: add the new documents to this folder of fingerprints as another part.",
        "FP",
        panel=EARLIER,
    )
    by: str | None = shared.BY_COLUMN.field()
    shard_size: str | None = option(
        "--shard-size",
        None,
        "Write the kept rows into numbered files of about this size, such as 500MB. By default each data file of "
        "the input has its own file in kept, with the same name.",
        "SIZE",
        panel=OUTPUT,
    )
    annotate: bool = option(
        "--annotate",
        False,
        "Remove nothing: write every document, with the columns group, representative and similarity.",
        panel=OUTPUT,
    )
    engine: str = option(
        "--engine",
        "local",
        "local: this machine; spark: a cluster, which needs the extra spark and reads and writes Parquet or JSONL "
        "on the file systems of Spark. The answer is the same.",
        "NAME",
        panel=WORK,
        from_file=NEVER,
    )
    master: str | None = option(
        "--master",
        None,
        "With --engine spark: the cluster, such as spark://HOST:7077, yarn or local[4].",
        "URL",
        panel=WORK,
        from_file=NEVER,
    )
    store_texts: bool = shared.STORE_TEXTS.field()
    resume: bool = shared.RESUME.field()
    predict: bool = shared.PREDICT.field()
    dry_run: bool = shared.DRY_RUN.field()
    json: bool = shared.JSON.field()
    overwrite: bool = shared.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GroupOptions:
    """The options of ``neardup group``; ``explicit`` has the names of the given ones."""

    inputs: list[str] = shared.INPUTS_OR_FROM.field()
    out: Path | None = shared.OUT.field()
    text: list[str] = shared.TEXT.field()
    id: str | None = shared.ID.field()
    settings: SettingOptions = all_settings(without=frozenset({"only_contained", "lose"}))
    against: list[str] = replace(
        shared.AGAINST, help=f"{shared.AGAINST.help} Or folders that neardup fingerprint has written."
    ).field()
    against_text: list[str] = shared.AGAINST_TEXT.field()
    against_id: str | None = shared.AGAINST_ID.field()
    key: Path | None = replace(shared.KEY, help=f"With fingerprints in --against: {shared.KEY.help}").field()
    ignore: list[str] = shared.IGNORE.field()
    stored: Path | None = option(
        "--from",
        None,
        "Read no documents: use the pairs of the result in this folder, with a --threshold above its own. Only "
        "with -o, --threshold, --dry-run, --json and --overwrite.",
        "DIR",
        panel=EARLIER,
    )
    by: str | None = shared.BY_COLUMN.field()
    store_texts: bool = shared.STORE_TEXTS.field()
    resume: bool = shared.RESUME.field()
    predict: bool = shared.PREDICT.field()
    dry_run: bool = shared.DRY_RUN.field()
    json: bool = shared.JSON.field()
    overwrite: bool = shared.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class LookOptions:
    """The options of ``neardup PATH``."""

    inputs: list[str] = shared.INPUTS.field()
    text: list[str] = shared.TEXT.field()
    id: str | None = shared.ID.field()
    settings: SettingOptions = all_settings()
    json: bool = shared.JSON.field()


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of ``neardup compare``."""

    a: str = argument(
        "A",
        "A document: text, HTML, PDF, DOCX, mail; - is standard input; FILE#ROW is a row of a data file. Or a "
        "result folder or a collection, if two ids follow.",
    )
    b: str = argument("B", "The document to compare with it, or the id of a document.")
    other: str | None = Declared((), None, "The id of the other document.", "ID", panel=INPUT).field()
    inputs: list[str] = shared.MOVED.field()
    text: list[str] = replace(shared.TEXT, help=f"With FILE#ROW: {shared.TEXT.help}").field()
    encoding: str = setting("encoding")
    delimiter: str = setting("delimiter")
    pages: str = setting("pages")
    literal: bool = shared.LITERAL.field()
    length: int = setting("length")
    unit: str = setting("unit")
    min_chunk: int | None = option(
        "--min-chunk",
        None,
        "Fewest tokens (or characters) of a match. Default: the length of a shingle.",
        "NUMBER",
        panel=COMPARED,
    )
    settings: SettingOptions = settings_of(CLEANING)
    ignore: list[str] = shared.IGNORE.field()
    html: Path | None = option(
        "--html", None, "Write an HTML page with both texts instead of printing them.", "FILE", panel=OUTPUT
    )
    full: bool = option(
        "--full", False, "Show long passages in full, equal ones too, instead of folding them.", panel=OUTPUT
    )
    width: int | None = option(
        "--width",
        None,
        "Columns to use, at least 60; side by side from 100 on. Default: those of the terminal, else 80.",
        "NUMBER",
        panel=OUTPUT,
    )
    json: bool = shared.JSON.field()
    overwrite: bool = replace(shared.OVERWRITE, help="Replace the page if it exists.").field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of ``neardup show``."""

    out: Path = shared.RESULT.field()
    id: str = argument("ID", "The id of a document.")
    inputs: list[str] = shared.MOVED.field()
    limit: int = option("--limit", 10, "Largest number of members, and of documents outside, to list.", "NUMBER")
    json: bool = shared.JSON.field()


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of ``neardup report``."""

    result: Path = Declared((), REQUIRED, "A result folder.", "OUT").field()
    page: Path = Declared(("-o", "--out"), REQUIRED, "The HTML page to write.", "FILE").field()
    most_pairs: int = option("--pairs", 10, "Number of pairs to show side by side, up to 100.", "NUMBER")
    most_groups: int = option("--groups", 20, "Number of groups in a list, up to 1,000.", "NUMBER")
    inputs: list[str] = shared.MOVED.field()
    overwrite: bool = replace(shared.OVERWRITE, help="Replace the page if it exists.").field()


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """The options of ``neardup review``."""

    out: Path = Declared((), REQUIRED, "A result folder.", "OUT").field()
    inputs: list[str] = shared.MOVED.field()
    by: str = shared.BY_NAME.field()
    host: str = shared.HOST.field()
    port: int = option("--port", 8322, "Port to listen at; 0 for any free port.", "NUMBER", from_file=NEVER)
    token_file: Path | None = shared.TOKEN_FILE.field()


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of ``neardup export``."""

    out: Path = replace(shared.RESULT, help="A result folder, or a collection.").field()
    file: Path = Declared(("-o", "--out"), REQUIRED, "File to write; - is standard output.", "FILE").field()
    what: str = option(
        "--what",
        "groups",
        "groups: each member of a group, with its verdict, tags and fate. decisions: each decision, with its "
        "author and time. tags: the documents with tags. documents: the documents of a collection, as jsonl or "
        "parquet.",
        "NAME",
    )
    form: str | None = option(
        "--format", None, "csv, jsonl, parquet or dat. Default: the suffix of the file.", "NAME"
    )
    overwrite: bool = replace(shared.OVERWRITE, help="Replace an earlier export.").field()


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of ``neardup import``."""

    out: Path = shared.RESULT.field()
    file: Path = Declared((), REQUIRED, "A file with ids and tags.", "FILE").field()
    by: str = Declared(("--by",), REQUIRED, "Name of the person who added the tags.", "NAME").field()
    form: str | None = option(
        "--format", None, "csv, jsonl, parquet or dat. Default: the suffix of the file.", "NAME"
    )
    id: str = option("--id", "id", "Column with the ids of the documents, as in the result.", "COLUMN")
    tags: str = option("--tags", "tags", "Column with the tags, separated by semicolons.", "COLUMN")

    @property
    def columns(self) -> tuple[str, str]:
        """The columns with the ids and the tags."""
        return self.id, self.tags


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of ``neardup plan``; ``explicit`` has the names of the given ones."""

    sample: list[str] = Declared(
        (),
        (),
        "Your documents (files or folders), to get advice on them instead of bands alone.",
        "SAMPLE",
        panel=INPUT,
    ).field()
    text: list[str] = shared.TEXT.field()
    id: str | None = shared.ID.field()
    threshold: float = setting("threshold")
    recall: float = setting("recall")
    slots: int = setting("slots")
    unit: str = setting("unit")
    length: int = setting("length")
    settings: SettingOptions = settings_of(SELECTION)
    ignore: list[str] = shared.IGNORE.field()
    encoding: str = setting("encoding")
    delimiter: str = setting("delimiter")
    pages: str = setting("pages")
    threads: int = setting("threads")
    svg: Path | None = option(
        "--svg", None, "Also write pairs and removals by threshold as an image.", "FILE.svg", panel=OUTPUT
    )
    simhash: bool = option(
        "--simhash", False, "Plan a search of SimHash fingerprints by Hamming distance.", panel=SEARCH
    )
    bits: int | None = option(
        "--bits", None, "With --simhash: bits, 64 or 128. Default: 64.", "NUMBER", panel=SEARCH
    )
    distance: int | None = option(
        "--distance",
        None,
        "With --simhash: largest number of differing bits, up to a quarter of all. Default: 3.",
        "NUMBER",
        panel=SEARCH,
    )
    documents: int | None = option(
        "--documents", None, "With --simhash: number of fingerprints. Default: 1,000,000.", "NUMBER", panel=SEARCH
    )
    json: bool = shared.JSON.field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The options of ``neardup explain``."""

    names: list[str] = Declared((), (), "Two to ten small files; - is standard input.", "IN", panel=INPUT).field()
    literal: bool = shared.LITERAL.field()
    example: bool = option("--example", False, "Explain three sentences of a published walk-through.", panel=INPUT)
    length: int = setting("length", default=3)
    unit: str = setting("unit")
    family: str = option(
        "--family",
        "mod-p",
        "Hash functions: mod-p, multiply-shift, classic, one-permutation, several with commas, or all.",
        "NAME",
        panel=COMPARED,
    )
    numbers: str | None = option(
        "--slots",
        None,
        "Number of hash functions, from 1 to 1,024, or several numbers with commas. Default: 4.",
        "NUMBER",
        panel=COMPARED,
    )
    seed: int = option(
        "--seed", 1, "Seed of the hash functions; 1 draws those of the walk-through.", "NUMBER", panel=COMPARED
    )
    coefficients: str | None = option(
        "--coefficients",
        None,
        "The functions a·x + b themselves, for example 4:9,14:4; for mod-p and multiply-shift.",
        "A:B",
        panel=COMPARED,
    )
    band_rows: int | None = option(
        "--band-rows", None, "Show buckets, with bands of this many rows.", "NUMBER", panel=COMPARED
    )
    html: Path | None = option(
        "--html", None, "Write an HTML page instead of printing the tables.", "FILE", panel=OUTPUT
    )
    overwrite: bool = replace(shared.OVERWRITE, help="Replace the page if it exists.").field()
    json: bool = shared.JSON.field()


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of ``neardup demo``."""

    json: bool = shared.JSON.field()


@dataclass(frozen=True, kw_only=True)
class WarmOptions:
    """The options of ``neardup warm``."""

    every: bool = option("--all", False, "Also compile the kernels of rare options.")
