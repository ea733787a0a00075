"""One table of the options of every command.

Options that are settings are derived from ``settings.FIELDS``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from neardup.cli.option import REQUIRED, Option
from neardup.settings import FIELDS

INPUTS = Option(
    "inputs", (), list[str], REQUIRED, "Files or folders: Parquet, Arrow, JSONL, CSV, documents.", "IN"
)
INPUTS_OR_FROM = replace(INPUTS, default=(), help=f"{INPUTS.help} Not with --from.")
STORED = Option(
    "stored",
    ("--from",),
    Path | None,
    None,
    "Read no documents: use the pairs of the result in this folder, with a --threshold above its own. Only with "
    "-o, --threshold, --dry-run, --json and --overwrite.",
    "DIR",
)
SAMPLE = Option(
    "sample",
    (),
    list[str],
    (),
    "Your documents (files or folders), to get advice on them instead of bands alone.",
    "SAMPLE",
)
OUT = Option(
    "out",
    ("-o", "--out"),
    Path | None,
    None,
    "Folder for the results, written atomically. Required unless --dry-run is given.",
    "DIR",
)
TEXT = Option(
    "text", ("--text",), str | None, None, "Column with the text; by default one with a usual name.", "COLUMN"
)
ID = Option(
    "id", ("--id",), str | None, None, "Column with the ids of the documents; by default source#row.", "COLUMN"
)
AGAINST = Option(
    "against",
    ("--against",),
    list[str],
    (),
    "Reference set: compare with these documents too, keep them all, and remove near copies of them. May be "
    "repeated.",
    "FILE",
)
ANNOTATE = Option(
    "annotate",
    ("--annotate",),
    bool,
    False,
    "Remove nothing: write every document, with the columns group, representative and similarity.",
)
DRY_RUN = Option("dry_run", ("--dry-run",), bool, False, "Show the result and write nothing.")
SVG = Option(
    "svg", ("--svg",), Path | None, None, "Also write pairs and removals by threshold as an image.", "FILE.svg"
)
JSON = Option("json", ("--json",), bool, False, "Print only the result, as JSON on standard output.")
OVERWRITE = Option("overwrite", ("--overwrite",), bool, False, "Replace the output folder if it exists.")
LITERAL = Option("literal", ("--literal",), bool, False, "The arguments are the documents themselves, not files.")

_EXPLAINING = (
    Option("names", (), list[str], (), "Two to ten small files; - is standard input.", "IN"),
    LITERAL,
    Option("example", ("--example",), bool, False, "Explain three sentences of a published walk-through."),
    replace(Option.of_field(FIELDS["length"]), default=3),
    Option.of_field(FIELDS["unit"]),
    Option(
        "family",
        ("--family",),
        str,
        "mod-p",
        "Hash functions: mod-p, multiply-shift, classic, one-permutation, several with commas, or all.",
        "NAME",
    ),
    Option(
        "numbers",
        ("--slots",),
        str | None,
        None,
        "Number of hash functions, from 1 to 1,024, or several numbers with commas. Default: 4.",
        "NUMBER",
    ),
    Option(
        "seed", ("--seed",), int, 1, "Seed of the hash functions; 1 draws those of the walk-through.", "NUMBER"
    ),
    Option(
        "coefficients",
        ("--coefficients",),
        str | None,
        None,
        "The functions a·x + b themselves, for example 4:9,14:4; for mod-p and multiply-shift.",
        "A:B",
    ),
    Option(
        "band_rows", ("--band-rows",), int | None, None, "Show buckets, with bands of this many rows.", "NUMBER"
    ),
    JSON,
)

COLLECTION = Option("path", (), Path, REQUIRED, "The file of the collection.", "COLLECTION")
NEW_COLLECTION = replace(COLLECTION, help="The file of the collection; created if it does not exist.")
IDS = Option("ids", (), list[str], REQUIRED, "Ids of documents.", "ID")
METADATA = Option(
    "metadata",
    ("--meta",),
    list[str],
    (),
    "Column to store with each document and to search by. May be repeated.",
    "COLUMN",
)
REPLACE = Option("replace", ("--replace",), bool, False, "Replace documents whose ids exist already.")
PROBLEMS = Option(
    "problems",
    ("--problems",),
    Path | None,
    None,
    "Write rejected rows and files in the form of problems.jsonl; replaces the list of an earlier run.",
    "FILE",
)
_FIXED = "Fixed when the collection is made. Default:"
CREATION = (
    Option("new_length", ("--length",), int | None, None, f"Words in a shingle, 1 to 64. {_FIXED} 5.", "NUMBER"),
    Option("new_slots", ("--slots",), int | None, None, f"Slots of a signature. {_FIXED} 64.", "NUMBER"),
    Option("new_scale", ("--scale",), int | None, None, f"Sample one shingle in this many. {_FIXED} 5.", "NUMBER"),
    Option(
        "new_floor", ("--floor",), int | None, None, f"Least number of shingles to sample. {_FIXED} 8.", "NUMBER"
    ),
)
"""``new_…``: settings of a new collection; for an existing one the given values must equal its own."""
UPGRADE = Option(
    "upgrade",
    ("--upgrade",),
    bool,
    False,
    "Convert a file of an earlier version to this one; copy it first.",
)
WAIT = Option("wait", ("--wait",), float, 10.0, "Seconds to wait while another process writes.", "NUMBER")
_COMPARING = (
    Option("a", (), str, REQUIRED, "A document: text, HTML, PDF, DOCX, mail; - is standard input.", "A"),
    Option("b", (), str, REQUIRED, "The document to compare with it.", "B"),
    LITERAL,
    Option.of_field(FIELDS["length"]),
    Option.of_field(FIELDS["unit"]),
    Option(
        "min_chunk",
        ("--min-chunk",),
        int | None,
        None,
        "Fewest tokens (or characters) of a match. Default: the length of a shingle.",
        "NUMBER",
    ),
    Option(
        "stop_words",
        ("--stop-words",),
        str | None,
        None,
        "Leave the stop words of a language (en, de, …) out of bag_of_words; needs neardup[stopwords].",
        "LANGUAGE",
    ),
    Option("ignore_numbers", ("--ignore-numbers",), bool, False, "Leave out tokens that consist of digits."),
    Option(
        "html",
        ("--html",),
        Path | None,
        None,
        "Write an HTML page with both texts instead of printing them.",
        "FILE",
    ),
    Option(
        "full", ("--full",), bool, False, "Show long passages in full, equal ones too, instead of folding them."
    ),
    Option(
        "width",
        ("--width",),
        int | None,
        None,
        "Columns to use, at least 60; side by side from 100 on. Default: those of the terminal, else 80.",
        "NUMBER",
    ),
    JSON,
    replace(OVERWRITE, help="Replace the page if it exists."),
)

_SIMHASH = (
    Option("simhash", ("--simhash",), bool, False, "Plan a search of SimHash fingerprints by Hamming distance."),
    Option("bits", ("--bits",), int | None, None, "With --simhash: bits, 64 or 128. Default: 64.", "NUMBER"),
    Option(
        "distance",
        ("--distance",),
        int | None,
        None,
        "With --simhash: largest number of differing bits, up to a quarter of all. Default: 3.",
        "NUMBER",
    ),
    Option(
        "documents",
        ("--documents",),
        int | None,
        None,
        "With --simhash: number of fingerprints. Default: 1,000,000.",
        "NUMBER",
    ),
)

_ARRIVING = (
    Option(
        "near",
        ("--near",),
        float | None,
        None,
        "Report which stored document each one repeats, from this resemblance on.",
        "NUMBER",
    ),
    Option(
        "on_near",
        ("--on-near",),
        str | None,
        None,
        "Treatment of a document that repeats another: keep (the default), link (into a group with it) or reject.",
        "NAME",
    ),
    Option(
        "skip_near", ("--skip-near",), float | None, None, "The same as --near with --on-near reject.", "NUMBER"
    ),
    Option(
        "near_recall",
        ("--recall",),
        float | None,
        None,
        "Least share of the near documents to find; 1: all, and slower. Default: 0.99.",
        "NUMBER",
    ),
)

_GROUPS = (
    COLLECTION,
    Option("limit", ("--limit",), int, 100, "Groups on a page, from 1 to 10,000.", "NUMBER"),
    Option(
        "after",
        ("--after",),
        int | None,
        None,
        "The next page: the value that the previous page printed.",
        "NUMBER",
    ),
    JSON,
)

_DECIDING = (
    COLLECTION,
    Option("a", (), str, REQUIRED, "Id of a document.", "A"),
    Option("b", (), str, REQUIRED, "Id of another document.", "B"),
    Option("verdict", (), str, REQUIRED, "same, different, or undecided, which withdraws a decision.", "VERDICT"),
    Option("by", ("--by",), str, "", "Name of the person who decides, for the change log.", "NAME"),
    Option("note", ("--note",), str, "", "Reason, for the change log.", "TEXT"),
    WAIT,
)

_SEARCHING = (
    COLLECTION,
    Option("query", (), str, REQUIRED, "The query, as one argument: put it in quotes.", "QUERY"),
    Option("limit", ("--limit",), int, 20, "Documents on a page, from 1 to 1,000.", "NUMBER"),
    Option(
        "after",
        ("--after",),
        str | None,
        None,
        "The next page: the value that the previous page printed.",
        "TOKEN",
    ),
    JSON,
    Option(
        "why_not", ("--why-not",), str | None, None, "Explain why the query does not find the document ID.", "ID"
    ),
    Option("explain", ("--explain",), bool, False, "Explain the meaning of the query and its look-ups in words."),
    Option("include_self", ("--include-self",), bool, False, "Include the query document itself."),
)

_SERVING = (
    COLLECTION,
    Option(
        "host",
        ("--host",),
        str,
        "127.0.0.1",
        "Address to listen at; access from other machines needs tokens.",
        "NAME",
    ),
    Option("port", ("--port",), int, 8321, "Port to listen at; 0 for any free port.", "NUMBER"),
    Option(
        "token_file", ("--token-file",), Path | None, None, "File with lines of read TOKEN or write TOKEN.", "FILE"
    ),
    Option("create", ("--create",), bool, False, "Create the collection if it does not exist."),
    WAIT,
    Option(
        "largest_body", ("--largest-body",), float, 64.0, "Largest number of megabytes of a request.", "NUMBER"
    ),
    Option(
        "most_hits", ("--most-hits",), int, 1000, "Largest number of hits on a page, from 1 to 1,000.", "NUMBER"
    ),
    Option(
        "most_candidates",
        ("--most-candidates",),
        int,
        100_000,
        "Largest number of documents that a search compares.",
        "NUMBER",
    ),
    Option("seconds", ("--seconds",), float, 10.0, "Time limit of a request in seconds.", "NUMBER"),
    Option(
        "requests", ("--requests",), int, 200, "Largest number of concurrent requests; more are refused.", "NUMBER"
    ),
    Option("threads", ("--threads",), int, 2, "Number of threads that read.", "NUMBER"),
    Option(
        "stop_seconds",
        ("--stop-seconds",),
        float,
        30.0,
        "Seconds to finish pending requests when the service stops.",
        "NUMBER",
    ),
)

_TOLD = (TEXT, ID, *map(Option.of_field, (FIELDS[name] for name in ("encoding", "delimiter"))))
_PLANNED = ("threshold", "recall", "slots", "unit", "length", "encoding", "delimiter", "threads")
_CHOOSING = (OUT, TEXT, ID)
_WORKING = (DRY_RUN, JSON, OVERWRITE)
_NOT_OF_GROUP = {"only_contained"}

COMMANDS: dict[str, tuple[Option, ...]] = {
    "dedup": (INPUTS, *_CHOOSING, *map(Option.of_field, FIELDS.values()), AGAINST, ANNOTATE, *_WORKING),
    "group": (
        INPUTS_OR_FROM,
        *_CHOOSING,
        *(Option.of_field(field) for field in FIELDS.values() if field.name not in _NOT_OF_GROUP),
        AGAINST,
        STORED,
        *_WORKING,
    ),
    "compare": _COMPARING,
    "plan": (
        SAMPLE,
        TEXT,
        ID,
        *map(Option.of_field, (FIELDS[name] for name in _PLANNED)),
        SVG,
        *_SIMHASH,
        JSON,
    ),
    "explain": _EXPLAINING,
    "add": (
        NEW_COLLECTION,
        INPUTS,
        *_TOLD,
        METADATA,
        REPLACE,
        *_ARRIVING,
        PROBLEMS,
        *CREATION,
        WAIT,
        JSON,
    ),
    "remove": (COLLECTION, IDS, WAIT, JSON),
    "search": _SEARCHING,
    "groups": _GROUPS,
    "decide": _DECIDING,
    "serve": _SERVING,
    "info": (COLLECTION, JSON),
    "check": (COLLECTION, JSON),
    "compact": (COLLECTION, UPGRADE, WAIT, JSON),
    "demo": (JSON,),
    "warm": (Option("every", ("--all",), bool, False, "Also compile the kernels of rare options."),),
}
"""The options of every command, in the order of its help."""
