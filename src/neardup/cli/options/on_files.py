"""The options of the commands that read files: one record a command, its fields in the order of the help."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import (
    FINGERPRINTS_AT_URL,
    NEVER,
    REQUIRED,
    RESULT_AT_URL,
    CommandOptions,
    Declared,
    SettingOptions,
    all_settings,
    option,
    settings_of,
)
from neardup.cli.options import general
from neardup.settings import COMPARISON, EARLIER, INPUT, OUTPUT, SEARCH, WORK, ReadingSettings, names_of

# ruff: noqa: RUF009  the calls return fields


READING = names_of(ReadingSettings)

ENGINE = Declared(
    ("--engine",),
    "local",
    "local: this machine; spark: a cluster, which needs the extra spark and reads and writes Parquet or JSONL "
    "on the file systems of Spark. The answer is the same.",
    "NAME",
    panel=WORK,
    from_file=NEVER,
)
MASTER = Declared(
    ("--master",),
    None,
    "With --engine spark: the cluster, such as spark://HOST:7077, yarn or local[4].",
    "URL",
    panel=WORK,
    from_file=NEVER,
)


PARTS = Declared(
    (),
    REQUIRED,
    "Folders of fingerprints, or a folder of them, in the order of the documents.",
    "FP",
    panel=INPUT,
    at_url=FINGERPRINTS_AT_URL,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FindOptions(general.ResultOptions):
    """The options that ``dedup`` and ``group`` have in common."""

    inputs: list[str] = general.INPUTS.field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    settings: SettingOptions = all_settings()
    against: list[str] = general.AGAINST_OR_PARTS.field()
    against_text: list[str] = general.AGAINST_TEXT.field()
    against_id: str | None = general.AGAINST_ID.field()
    ignore: list[str] = general.IGNORE.field()
    key: Path | None = replace(general.KEY, help=f"With fingerprints in --against: {general.KEY.help}").field()
    by: str | None = general.BY_COLUMN.field()
    store_texts: bool = general.STORE_TEXTS.field()
    resume: bool = general.RESUME.field()
    predict: bool = general.PREDICT.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DedupOptions(FindOptions):
    """Remove near copies; write the kept documents, and the evidence.

    At least one document of each group is kept, unless people decided otherwise: with --decisions the
    groups follow the decisions of a review.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    EXAMPLES: ClassVar = (
        (
            "neardup dedup shards/ -o cleaned --by lang --keep max:stars",
            "each language by itself; the best rated is kept",
        ),
        ("neardup dedup a.jsonl -o - | gzip > kept.jsonl.gz", "the kept rows alone, in a pipe"),
    )

    out: Path | None = general.OUT_OR_STREAM.field()
    decisions: Path | None = replace(
        general.RESULT,
        spelling=("--decisions",),
        default=None,
        help="Follow the decisions that people made about the result in this folder: documents that are alike or "
        "not, that are kept or removed, and those that represent a group. Decisions that do not apply are listed.",
        panel=EARLIER,
    ).field()
    update: Path | None = option(
        "--update",
        None,
        "With fingerprints in --against: add the new documents to this folder of fingerprints as another part.",
        "FP",
        panel=EARLIER,
        at_url=FINGERPRINTS_AT_URL,
    )
    file_size: str | None = option(
        "--file-size",
        None,
        "Write the kept rows into numbered files of about this size, such as 500MB. By default each data file of "
        "the input has its own file in kept, with the same name.",
        "SIZE",
        panel=OUTPUT,
    )
    write_removed: bool = option(
        "--write-removed",
        False,
        "Write the rows that go, too, as the input has them: removed.jsonl and so on, or the folder removed. "
        "Rows of data files have the columns kept_id and reason.",
        panel=OUTPUT,
    )
    write_table: Path | None = general.WRITE_TABLE.field()
    revisits: bool = option(
        "--revisits",
        False,
        "Of web archives: in the place of each removed capture, write a revisit record if it has the payload of "
        "the kept capture, byte for byte; otherwise a metadata record with the reason.",
        panel=OUTPUT,
    )
    annotate: bool = option(
        "--annotate",
        False,
        "Remove nothing: write every document, with the columns group, representative and similarity.",
        panel=OUTPUT,
    )
    engine: str = ENGINE.field()
    master: str | None = MASTER.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupOptions(FindOptions):
    """Report which documents are near copies; remove none.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup group mails/ -o groups --threshold 0.7", "which mails are near copies; none is removed"),
        ("neardup regroup groups -o strict --threshold 0.9", "the same pairs, a stricter threshold"),
    )

    settings: SettingOptions = all_settings(without=frozenset({"only_contained", "lose"}))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LookOptions(CommandOptions):
    """Print the ten largest groups of near copies in some documents, and the next command; write nothing.

    neardup PATH is short for it.

    Exit status: 0 done; 1 done, but some input was rejected; 2 error.
    """

    inputs: list[str] = general.INPUTS.field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    settings: SettingOptions = all_settings()
    quiet: bool = general.QUIET.field()
    verbose: bool = general.VERBOSE.field()
    json: bool = general.JSON.field()


# ruff: noqa: RUF009  the calls return fields


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FingerprintOptions(CommandOptions):
    """Fingerprint one part of the documents, for neardup merge.

    Parts can be fingerprinted in any number, on any machine and in any order. All parts need the same
    settings and the same key. The folder holds places of texts, not texts.

    Exit status: 0 done; 1 done, but some input was rejected; 2 error.
    """

    WITHOUT: ClassVar = {
        "predict": "neardup dedup --predict over the same files tells the cost of a part and of a merge",
    }
    EXAMPLES: ClassVar = (
        ("neardup fingerprint part-1.jsonl -o fp/1", "the first pass over a part, on any machine"),
        ("neardup merge fp -o merged", "then all parts together"),
    )

    inputs: list[str] = replace(general.INPUTS, default=()).field()
    out: Path | None = replace(
        general.OUT, help="Folder for the fingerprints of this part, written atomically.", metavar="FP"
    ).field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    settings: SettingOptions = all_settings()
    key: Path | None = general.KEY.field()
    new_key: Path | None = option(
        "--new-key",
        None,
        "Only make a key file, for parts on machines that share no folder.",
        "FILE",
        panel=EARLIER,
    )
    resume: bool = general.RESUME.field()
    quiet: bool = general.QUIET.field()
    json: bool = general.JSON.field()
    overwrite: bool = general.OVERWRITE.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MergeOptions(general.ResultOptions):
    """Group the documents of fingerprinted parts, as one run over all of them would.

    Settings that fingerprints do not depend on may be chosen here; the others are those of the parts.
    Texts are read again where they were fingerprinted, or below --inputs, only to verify pairs.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    WITHOUT: ClassVar = {
        "predict": "neardup dedup --predict over the same files tells the cost of the merge",
    }
    EXAMPLES: ClassVar = (
        ("neardup merge fp -o merged", "near copies among all parts"),
        ("neardup part part-1.jsonl --of merged -o kept-1", "then the kept rows of each part"),
    )

    parts: list[str] = PARTS.field()
    settings: SettingOptions = all_settings()
    key: Path | None = general.KEY.field()
    moved: list[str] = replace(
        general.MOVED, help="The texts of the parts where they are now, if they have moved. May be repeated."
    ).field()
    name_groups: bool = option(
        "--name-groups",
        False,
        "Store the names of the groups beside the fingerprints, so that dedup --update keeps them.",
        panel=OUTPUT,
    )
    store_texts: bool = general.STORE_TEXTS.field()
    resume: bool = general.RESUME.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartOptions(general.ResultOptions):
    """Write the documents of one part that the merged result of all parts keeps.

    The input of the part, as it was fingerprinted.
    """

    WITHOUT = general.WITHOUT_IN_COPYING
    inputs: list[str] = replace(general.INPUTS, help="The files or folders of the part.").field()
    merged: Path = Declared(
        ("--of",), REQUIRED, "The result into which the part was merged.", "OUT", at_url=RESULT_AT_URL
    ).field()
    out: Path | None = general.OUT_OR_STREAM.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DecontaminateOptions(general.OutputOptions):
    """Remove the training documents that contain test items; write the evidence.

    An item is contained if the given share of its shingles is in a training document. Text that many training
    documents or several test sets have proves nothing: such matches are listed apart, and nothing is removed.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    WITHOUT: ClassVar = {
        "memory": "the test items are in memory, and a few chunks of the training documents at a time",
        "predict": "one pass at the rate of fingerprint: measure a part with --dry-run",
    }
    EXAMPLES: ClassVar = (
        ("neardup decontaminate train/ --against eval.jsonl -o clean", "the documents without test items"),
        (
            "neardup decontaminate train/ --against eval.jsonl --fields q,a --dry-run",
            "columns q and a by themselves and together; nothing is written",
        ),
        (
            "neardup decontaminate train/ --against eval/ -o clean --cut",
            "cut the passages, and keep the documents",
        ),
    )

    inputs: list[str] = replace(general.INPUTS, help="The training documents.").field()
    against: list[str] = replace(
        general.AGAINST, help="Files with test items; each file is a test set. May be repeated.", default=REQUIRED
    ).field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    fields: list[str] = replace(
        general.AGAINST_TEXT,
        spelling=("--fields",),
        default=(),
        help="Columns of the test items with text, by default the first of question, query, problem, prompt, "
        "instruction, messages and conversations, or the longest. Each is looked for by itself, and all together. "
        "Several with commas or repeated, as with --text; of a chat or a list of choices, the texts in order.",
    ).field()
    against_id: str | None = replace(
        general.AGAINST_ID, help="Column with the ids of the test items; by default source#row."
    ).field()
    settings: SettingOptions = settings_of("length", *READING, "threads")
    threshold: float = option(
        "--threshold",
        0.8,
        "Least share of the shingles of a test item in a training document: 0.8 or 80%.",
        *general.SHARE,
        panel=SEARCH,
    )
    run: int = option(
        "--run",
        13,
        "A match has two shingles that are not common and do not overlap, or this many tokens in a row with one.",
        "NUMBER",
        panel=SEARCH,
    )
    common: float = option(
        "--common",
        0.001,
        "Shingles in more than this share of the training documents, and in more than 10 of them, are common.",
        *general.SHARE,
        panel=SEARCH,
    )
    drop: bool = option(
        "--drop",
        False,
        "Leave out the documents that contain test items. This is the default.",
        panel=OUTPUT,
    )
    tag: bool = option(
        "--tag",
        False,
        "Remove nothing: write every document, with the column contaminated_by.",
        panel=OUTPUT,
    )
    cut: bool = option(
        "--cut",
        False,
        "Write every document without the passages of test items; cuts.parquet has them.",
        panel=OUTPUT,
    )
    marker: str = option(
        "--marker", "[…]", "The text in the place of a passage that was cut.", "TEXT", panel=OUTPUT
    )
    report_only: bool = option(
        "--report-only",
        False,
        "Write the evidence and the report, and no documents; also the scan, for --scanned.",
        panel=OUTPUT,
    )
    scanned: list[str] = option(
        "--scanned",
        (),
        "Outputs of --report-only for all parts of the training documents. The inputs are some parts, "
        "which are not scanned again, and text is common if it is so in all parts. May be repeated.",
        "DIR",
        panel=EARLIER,
    )
    engine: str = ENGINE.field()
    master: str | None = MASTER.field()
    resume: bool = general.RESUME.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PairsOptions(CommandOptions):
    """List the most similar pairs, without a threshold: exactly, and complete with ties.

    With --against, the nearest documents of the reference set for each new one. Rows with the same text are
    one document, and no pair. Without -o, the first pairs are printed.

    Exit status: 0 done; 1 done, but some input was rejected; 2 error.
    """

    WITHOUT: ClassVar = {
        "quiet": "the list is the result; -o writes it to a file",
        "resume": "a join is one step",
        "predict": "the time depends on how similar the last listed pair is",
    }
    EXAMPLES: ClassVar = (
        ("neardup pairs posts.jsonl --top 1000 -o pairs.csv", "the 1,000 most similar pairs"),
        ("neardup pairs new.jsonl --against old/ --top 3", "the old documents nearest to each new one"),
    )

    inputs: list[str] = general.INPUTS.field()
    against: list[str] = replace(
        general.AGAINST, help="Reference set: list its nearest documents for each new one. May be repeated."
    ).field()
    out: Path | None = replace(
        general.OUT, help="File for the pairs: .parquet, .csv, .jsonl or .dat.", metavar="FILE"
    ).field()
    top: int = option(
        "--top", 100, "Number of pairs; with --against, for each new document.", "NUMBER", panel=SEARCH
    )
    threshold: float = option(
        "--threshold", 0.0, "Least similarity of a pair; by default any above 0.", *general.SHARE, panel=SEARCH
    )
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    against_text: list[str] = general.AGAINST_TEXT.field()
    against_id: str | None = general.AGAINST_ID.field()
    ignore: list[str] = general.IGNORE.field()
    settings: SettingOptions = settings_of(
        *COMPARISON, "ignore_common", "measure", "matching", "within", "across", *READING, "memory", "threads"
    )
    json: bool = general.JSON.field()
    overwrite: bool = replace(general.OVERWRITE, help="Replace the file if it exists.").field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PassagesOptions(general.OutputOptions):
    """Find the passages that occur more than once, with all their places.

    Every passage of at least the given number of tokens that occurs twice or more is found, in different
    documents or in one. With --cut, each remains in one place, and the others are cut out of the texts.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    WITHOUT: ClassVar = {
        "predict": "the time grows with the tokens: measure a part with --dry-run",
    }
    EXAMPLES: ClassVar = (
        ("neardup passages posts.jsonl -o repeated", "repeated passages of 50 tokens and more"),
        (
            "neardup passages posts.jsonl -o cleaned --cut --keep max:stars",
            "the texts with each passage once, in the best rated document that has it",
        ),
    )

    inputs: list[str] = general.INPUTS.field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    scan: bool = option(
        "--scan",
        False,
        "Only store the tokens of this part of the documents in -o, on any machine, for --scanned.",
        panel=EARLIER,
    )
    scanned: list[str] = option(
        "--scanned",
        (),
        "Folder of --scan; once for each part of the inputs, in their order. Tokens are not read again.",
        "SCAN",
        panel=EARLIER,
    )
    key: Path | None = replace(
        general.KEY, help="Key file that all scans share. Default: one beside the folder of --scan."
    ).field()
    of: str | None = option(
        "--of", None, "Show the passages of document ID that others have; the input is a collection.", "ID"
    )
    length: int | None = option(
        "--length", None, "Fewest tokens: 50 of a passage, 5 of another unit.", "NUMBER", panel=SEARCH
    )
    unit: str = option(
        "--unit",
        "passage",
        "What occurs more than once: a passage, any run of tokens; or a whole line, paragraph or sentence.",
        "NAME",
        panel=SEARCH,
    )
    settings: SettingOptions = settings_of(*READING, "memory", "threads")
    within_document: bool = option(
        "--within-document",
        False,
        "Write documents.parquet: for each document the shares of repeated lines, paragraphs and n-grams in it.",
        panel=OUTPUT,
    )
    cut: bool = option(
        "--cut",
        False,
        "Write the documents with each repeated passage in one place, and the cuts in cuts.parquet.",
        panel=OUTPUT,
    )
    annotate: bool = option(
        "--annotate",
        False,
        "Write the documents with a column of the bytes that --cut would cut.",
        panel=OUTPUT,
    )
    keep: str = option(
        "--keep",
        "first",
        "Document that keeps a passage: first, last, longest-document or max:COLUMN; of equal ones the first.",
        "NAME",
        panel=OUTPUT,
    )
    min_tokens: int = option(
        "--min-tokens",
        1,
        "With --cut: fewest tokens of a document after cuts; shorter ones go to short.parquet.",
        "NUMBER",
        panel=OUTPUT,
    )
    resume: bool = general.RESUME.field()
