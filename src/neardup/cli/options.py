"""One table of the options of every command.

An option that is a setting is made from its row in ``settings.FIELDS``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from neardup.cli.option import REQUIRED, Option
from neardup.settings import FIELDS

INPUTS = Option("inputs", (), list[str], REQUIRED, "Files, folders: Parquet, Arrow, JSONL, CSV, documents.", "IN")
INPUTS_OR_FROM = replace(INPUTS, default=(), help=f"{INPUTS.help} Not with --from.")
STORED = Option(
    "stored",
    ("--from",),
    Path | None,
    None,
    "Read no documents: take the pairs of the result in this folder, for a --threshold above its own. Goes with "
    "-o, --threshold, --dry-run, --json and --overwrite only.",
    "DIR",
)
SAMPLE = Option(
    "sample",
    (),
    list[str],
    (),
    "Documents to look at (files or folders): advice on them, instead of bands alone.",
    "SAMPLE",
)
OUT = Option(
    "out",
    ("-o", "--out"),
    Path | None,
    None,
    "Folder for the results, written whole or not at all. Needed unless --dry-run.",
    "DIR",
)
TEXT = Option("text", ("--text",), str | None, None, "Column that holds the text; else a usual name.", "COLUMN")
ID = Option("id", ("--id",), str | None, None, "Column that names the documents; else source#row.", "COLUMN")
AGAINST = Option(
    "against",
    ("--against",),
    list[str],
    (),
    "Compare with these documents too: they are kept, and near copies of them removed. May be repeated.",
    "FILE",
)
ANNOTATE = Option(
    "annotate",
    ("--annotate",),
    bool,
    False,
    "Remove nothing: write every document, with the columns group, representative and similarity.",
)
DRY_RUN = Option("dry_run", ("--dry-run",), bool, False, "Show what would be done and write nothing.")
SVG = Option(
    "svg", ("--svg",), Path | None, None, "Write pairs and removals by threshold as an image, too.", "FILE.svg"
)
JSON = Option("json", ("--json",), bool, False, "Print the result as JSON on standard output, nothing else.")
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
        "How many hash functions: a number from 1 to 1024, or several with commas. Without it 4.",
        "NUMBER",
    ),
    Option("seed", ("--seed",), int, 1, "Draws the hash functions; 1 draws those of the walk-through.", "NUMBER"),
    Option(
        "coefficients",
        ("--coefficients",),
        str | None,
        None,
        "The functions a·x + b themselves, for example 4:9,14:4; for mod-p and multiply-shift.",
        "A:B",
    ),
    Option("band_rows", ("--band-rows",), int | None, None, "Show bands of so many rows, and buckets.", "NUMBER"),
    JSON,
)

COLLECTION = Option("path", (), Path, REQUIRED, "The file of the collection.", "COLLECTION")
NEW_COLLECTION = replace(COLLECTION, help="The file of the collection; made if there is none.")
IDS = Option("ids", (), list[str], REQUIRED, "Ids of documents.", "ID")
METADATA = Option(
    "metadata",
    ("--meta",),
    list[str],
    (),
    "Column to keep with each document, to search by. May be repeated.",
    "COLUMN",
)
REPLACE = Option("replace", ("--replace",), bool, False, "Replace documents whose ids are there already.")
PROBLEMS = Option(
    "problems",
    ("--problems",),
    Path | None,
    None,
    "Write what was rejected as problems.jsonl; a list of an earlier run is replaced.",
    "FILE",
)
_FIXED = "Fixed when the collection is made. Without it"
CREATION = (
    Option("new_length", ("--length",), int | None, None, f"Words in a shingle, 1 to 64. {_FIXED} 5.", "NUMBER"),
    Option("new_slots", ("--slots",), int | None, None, f"Slots of a signature. {_FIXED} 64.", "NUMBER"),
    Option(
        "new_scale", ("--scale",), int | None, None, f"One shingle in so many is sampled. {_FIXED} 5.", "NUMBER"
    ),
    Option(
        "new_floor", ("--floor",), int | None, None, f"Shingles that are sampled at least. {_FIXED} 8.", "NUMBER"
    ),
)
"""``new_…``: settings of a new collection; if there is one, those that are given must be its own."""
UPGRADE = Option(
    "upgrade",
    ("--upgrade",),
    bool,
    False,
    "Bring a file of an earlier version to this one; copy it before.",
)
WAIT = Option("wait", ("--wait",), float, 10.0, "Seconds to wait while somebody else writes.", "NUMBER")
_COMPARING = (
    Option("a", (), str, REQUIRED, "A document: text, HTML, PDF, DOCX, mail; - is standard input.", "A"),
    Option("b", (), str, REQUIRED, "The document that is compared with it.", "B"),
    LITERAL,
    Option.of_field(FIELDS["length"]),
    Option.of_field(FIELDS["unit"]),
    Option(
        "min_chunk",
        ("--min-chunk",),
        int | None,
        None,
        "Fewest tokens (or characters) of a match. Without it the length of a shingle.",
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
    Option("ignore_numbers", ("--ignore-numbers",), bool, False, "Leave out tokens that are only digits."),
    Option(
        "html", ("--html",), Path | None, None, "Write a page with both texts instead of showing them.", "FILE"
    ),
    Option("full", ("--full",), bool, False, "Show long stretches whole, equal ones too, instead of folded."),
    Option(
        "width",
        ("--width",),
        int | None,
        None,
        "Columns to use, at least 60; side by side from 100 on. Without it those of the terminal, else 80.",
        "NUMBER",
    ),
    JSON,
    replace(OVERWRITE, help="Replace the page if it exists."),
)

_SIMHASH = (
    Option("simhash", ("--simhash",), bool, False, "Plan a search of SimHash fingerprints by Hamming distance."),
    Option("bits", ("--bits",), int | None, None, "With --simhash: bits, 64 or 128. Without it 64.", "NUMBER"),
    Option(
        "distance",
        ("--distance",),
        int | None,
        None,
        "With --simhash: most bits in which two may differ, up to a quarter of them. Without it 3.",
        "NUMBER",
    ),
    Option(
        "documents",
        ("--documents",),
        int | None,
        None,
        "With --simhash: number of fingerprints. Without it 1 000 000.",
        "NUMBER",
    ),
)

_ARRIVING = (
    Option(
        "near",
        ("--near",),
        float | None,
        None,
        "Tell which stored document each repeats, from this resemblance on.",
        "NUMBER",
    ),
    Option(
        "on_near",
        ("--on-near",),
        str | None,
        None,
        "What happens to one that repeats another: keep (the default), link (into a group with it) or reject.",
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
        "Share of the near ones that is found at least; 1: all, and slower. Without it 0.99.",
        "NUMBER",
    ),
)

_GROUPS = (
    COLLECTION,
    Option("limit", ("--limit",), int, 100, "Groups on a page, from 1 to 10000.", "NUMBER"),
    Option("after", ("--after",), int | None, None, "The next page: what the page before gave.", "NUMBER"),
    JSON,
)

_DECIDING = (
    COLLECTION,
    Option("a", (), str, REQUIRED, "Id of a document.", "A"),
    Option("b", (), str, REQUIRED, "Id of another document.", "B"),
    Option("verdict", (), str, REQUIRED, "same, different, or undecided: withdraws what was decided.", "VERDICT"),
    Option("by", ("--by",), str, "", "Who decides, for the change log.", "NAME"),
    Option("note", ("--note",), str, "", "Why, for the change log.", "TEXT"),
    WAIT,
)

_SEARCHING = (
    COLLECTION,
    Option("query", (), str, REQUIRED, "What is asked, as one argument: put it in quotes.", "QUERY"),
    Option("limit", ("--limit",), int, 20, "Documents on a page, from 1 to 1000.", "NUMBER"),
    Option("after", ("--after",), str | None, None, "The next page: what the page before gave.", "TOKEN"),
    JSON,
    Option("why_not", ("--why-not",), str | None, None, "Say why the document ID is not found.", "ID"),
    Option("explain", ("--explain",), bool, False, "Say in words how the query is understood and looked up."),
    Option("include_self", ("--include-self",), bool, False, "Do not leave out the query document itself."),
)

_SERVING = (
    COLLECTION,
    Option(
        "host",
        ("--host",),
        str,
        "127.0.0.1",
        "Address to listen at; beyond this machine only with tokens.",
        "NAME",
    ),
    Option("port", ("--port",), int, 8321, "Port to listen at; 0 for any that is free.", "NUMBER"),
    Option("token_file", ("--token-file",), Path | None, None, "Lines of read TOKEN or write TOKEN.", "FILE"),
    Option("create", ("--create",), bool, False, "Make the collection if there is none."),
    WAIT,
    Option("largest_body", ("--largest-body",), float, 64.0, "Megabytes of a request at most.", "NUMBER"),
    Option("most_hits", ("--most-hits",), int, 1000, "Hits on a page at most, from 1 to 1000.", "NUMBER"),
    Option(
        "most_candidates",
        ("--most-candidates",),
        int,
        100_000,
        "Documents that are compared for a search at most.",
        "NUMBER",
    ),
    Option("seconds", ("--seconds",), float, 10.0, "Time for a request; what takes longer is stopped.", "NUMBER"),
    Option("requests", ("--requests",), int, 200, "Requests under way at most; more are refused.", "NUMBER"),
    Option("threads", ("--threads",), int, 2, "Threads that read.", "NUMBER"),
    Option(
        "stop_seconds",
        ("--stop-seconds",),
        float,
        30.0,
        "Time to finish what is under way when it is stopped.",
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
    "warm": (Option("every", ("--all",), bool, False, "Also what only rare options need."),),
}
"""The options of every command, in the order of its help."""
