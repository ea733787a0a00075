"""Options that several commands have, and the record of those of the log."""

from dataclasses import dataclass, replace
from pathlib import Path

from neardup.cli import option
from neardup.errors import SettingError
from neardup.io.place import Place, is_url, place_of, url_in
from neardup.settings import ACCESS, COMPARED, EARLIER, INPUT, OUTPUT, WORK, share_of

SHARE = ("NUMBER", share_of)
"""Metavariable and reader of an option that asks for a share: 0.8 or 80%."""

INPUTS = option.Declared(
    (), option.REQUIRED, "Files or folders: Parquet, Arrow, JSONL, CSV, documents.", "IN", panel=INPUT
)
OUT = option.Declared(
    ("-o", "--out"),
    None,
    "Folder for the results, written atomically. Required unless --dry-run is given.",
    "DIR",
    panel=OUTPUT,
    at_url=option.OUTPUT_AT_URL,
)
OUT_OR_STREAM = replace(
    OUT,
    help="Folder for the results, written atomically; - writes the kept rows to standard output as JSONL, and "
    "reports to standard error. Required unless --dry-run is given.",
    read=option.typed_path,
)
RESULT = option.Declared((), option.REQUIRED, "A result folder.", "OUT", at_url=option.RESULT_AT_URL)


TEXT = option.Declared(
    ("--text",),
    (),
    "Column with the text; by default one with a usual name. Several with commas or repeated, fields after dots, "
    "[] for each element of a list: title,body or messages[].content.",
    "COLUMN",
    panel=INPUT,
    from_file=option.TOP,
)
ID = option.Declared(
    ("--id",),
    None,
    "Column with the ids of the documents, or a field such as meta.id; by default source#row.",
    "COLUMN",
    panel=INPUT,
    from_file=option.TOP,
)
MOVED = option.Declared(
    ("--inputs",),
    (),
    "With a result: its input where it is now, if that has moved. May be repeated.",
    "FILE",
    panel=EARLIER,
)
AGAINST = option.Declared(
    ("--against",),
    (),
    "Reference set: compare with these documents too, keep them all, and remove near copies of them. May be "
    "repeated.",
    "FILE",
    panel=INPUT,
)
AGAINST_OR_PARTS = replace(
    AGAINST,
    help=f"{AGAINST.help} Or folders that neardup fingerprint has written.",
    at_url=option.FINGERPRINTS_AT_URL,
)
AGAINST_TEXT = option.Declared(
    ("--against-text",),
    (),
    "With --against: column with the text of the reference set, named as with --text; by default as in the input.",
    "COLUMN",
    panel=INPUT,
)
AGAINST_ID = option.Declared(
    ("--against-id",),
    None,
    "With --against: column with the ids of the reference set; by default as in the input, if it exists.",
    "COLUMN",
    panel=INPUT,
)
IGNORE = option.Declared(
    ("--ignore",),
    (),
    "Boilerplate: templates, forms, licences. Shingles in these documents count nowhere. May be repeated.",
    "FILE",
    panel=COMPARED,
)
KEY = option.Declared(
    ("--key",),
    None,
    "Key file that all parts share. Default: one beside the folder of fingerprints, made by the first part.",
    "FILE",
    panel=EARLIER,
)
DRY_RUN = option.Declared(("--dry-run",), False, "Show the result and write nothing.", panel=OUTPUT)
QUIET = option.Declared(("--quiet",), False, "Print one line about the result.", panel=OUTPUT)
VERBOSE = option.Declared(
    ("--verbose",), False, "List groups beyond the lines of the terminal, as in a pipe.", panel=OUTPUT
)
JSON = option.Declared(("--json",), False, "Print only the result, as JSON on standard output.", panel=OUTPUT)
OVERWRITE = option.Declared(
    ("--overwrite",), False, "Replace the output folder if it exists.", panel=OUTPUT, from_file=option.NEVER
)
BY_COLUMN = option.Declared(
    ("--by",),
    None,
    "As one run for each value of this column, such as a language: compare only within a value (--within), and "
    "count by value. Kept rows of a single file go to kept/COLUMN=VALUE.",
    "COLUMN",
    panel=COMPARED,
)
STORE_TEXTS = option.Declared(
    ("--no-store-texts", "--store-texts"),
    True,
    "Do not store the texts of the documents in pairs and copies in the result, which then can show, compare and "
    "review no text.",
    panel=OUTPUT,
)
WRITE_TABLE = option.Declared(
    ("--write-table",),
    None,
    "Write the kept rows as a new table, too: of Delta Lake (NAME.delta) or Lance (NAME.lance), here or at s3://.",
    "NAME",
    panel=OUTPUT,
    at_url=option.TABLE_AT_URL,
)
RESUME = option.Declared(
    ("--resume",),
    False,
    "Keep the finished parts of the work in a hidden folder beside the output until the run has ended, and go on "
    "from those of a run that was killed. Inputs, settings and version must be the same.",
    panel=WORK,
)
PREDICT = option.Declared(
    ("--predict",),
    False,
    "Fingerprint the first documents, print the memory, disk space and time that the run will take, and stop.",
    panel=WORK,
)
LITERAL = option.Declared(
    ("--literal",), False, "The arguments are the documents themselves, not files.", panel=INPUT
)
COLLECTION = option.Declared(
    (),
    option.REQUIRED,
    "The file of the collection, or postgresql://USER@HOST/DATABASE.",
    "COLLECTION",
    place_of,
    panel=INPUT,
)
NEW_COLLECTION = replace(
    COLLECTION,
    help=f"{COLLECTION.help[:-1]}; created if it does not exist.",
)
WAIT = option.Declared(("--wait",), 10.0, "Seconds to wait while another process writes.", "NUMBER", panel=WORK)
HOST = option.Declared(
    ("--host",),
    "127.0.0.1",
    "Address to listen at; access from other machines needs tokens.",
    "NAME",
    panel=ACCESS,
    from_file=option.NEVER,
)
TOKEN_FILE = option.Declared(
    ("--token-file",),
    None,
    "File with lines of read TOKEN or write TOKEN.",
    "FILE",
    panel=ACCESS,
    from_file=option.NEVER,
)
BY_NAME = option.Declared(("--by",), "", "Your name in the history of decisions; by default your account.", "NAME")
NO_CONFIG = option.Declared(
    ("--no-config",), False, "Read no options from a file.", panel=WORK, from_file=option.NEVER
)
CONFIG = option.Declared(
    ("--config",),
    None,
    "File with options in TOML. Default: neardup.toml, or [tool.neardup] of pyproject.toml, in the working "
    "directory.",
    "FILE",
    panel=WORK,
    from_file=option.NEVER,
)
HELP_ALL = option.Declared(
    ("--help-all",), False, "Show all options, by purpose, and what each allows.", from_file=option.NEVER
)
MOST_SHOWN = 25
"""The most options that ``--help`` shows; a command with more hides the RARE ones from it."""
RARE = frozenset(
    (
        *("encoding", "delimiter", "pages", "text_suffix", "query", "against_text", "against_id"),
        *("unit", "tokenizer", "mask", "ignore_numbers", "stop_words", "matching", "copies", "across", "no_self"),
        *("ignore", "by", "sketch", "audit", "only_contained", "direction", "lose", "most_removed", "empty"),
        *(
            "count",
            "sources",
            "decisions",
            "key",
            "new_key",
            "update",
            "pairs",
            "kinds",
            "scale",
            "floor",
            "slots",
        ),
        *("file_size", "write_table", "revisits", "annotate", "store_texts", "verbose", "problems"),
        *("engine", "master", "wait", "log_format", "log_every", "metrics", "strict", "no_config", "config"),
    )
)
"""The options that few need, by name."""


def _result_or_collection(text: str) -> Place:
    """Return the path of a result, which may be at a URL, or the place of a collection."""
    return Path(text) if url_in(text) is not None and not is_url(text) else place_of(text)


RESULT_OR_COLLECTION = replace(RESULT, help="A result folder, or a collection.", read=_result_or_collection)


WITHOUT_IN_COPYING = {
    "threads": "the rows are read and written in their order",
    "memory": "rows pass through in chunks",
    "resume": "one pass that copies rows",
    "predict": "it takes as long as copying the files",
}
"""The options of long work that commands do not have which only copy rows, and why."""


# ruff: noqa: RUF009  the calls return fields
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OutputOptions(option.CommandOptions):
    """The options that commands have in common which write a result."""

    out: Path | None = OUT.field()
    dry_run: bool = DRY_RUN.field()
    quiet: bool = QUIET.field()
    json: bool = JSON.field()
    overwrite: bool = OVERWRITE.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResultOptions(OutputOptions):
    """The options that commands have in common which group documents."""

    verbose: bool = VERBOSE.field()


LOG_FORMATS = ("text", "json")


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The options of the log, which a command that works long has beside those of its record.

    Raises SettingError for a format that there is not, and for seconds that are not above 0.
    """

    log_format: str | None = option.Declared(
        ("--log-format",),
        None,
        "Log to standard error as text, lines for people, or as json, an event on each line for programs. By "
        "default a terminal has bars, and otherwise a run of more than 5 seconds has lines.",
        "NAME",
        panel=WORK,
        from_file=option.NEVER,
        choices=LOG_FORMATS,
    ).field()
    log_every: float = option.option(
        "--log-every",
        30.0,
        "Seconds between two lines about a stage that goes on.",
        "NUMBER",
        panel=WORK,
        from_file=option.NEVER,
    )
    metrics: Path | None = option.option(
        "--metrics",
        None,
        "Write figures for Prometheus at the end, also after an error: status, seconds, memory, counts, stages. "
        "Replaces those of an earlier run.",
        "FILE",
        panel=WORK,
        from_file=option.NEVER,
    )
    strict: bool | None = option.Declared(
        ("--strict", "--no-strict"),
        None,
        "The exit status if some input was rejected: --strict 2, --no-strict 0. Default: 1.",
        panel=WORK,
        from_file=option.NEVER,
    ).field()

    def __post_init__(self) -> None:
        if self.log_format not in (None, *LOG_FORMATS):
            raise SettingError(f"--log-format is {self.log_format!r}", f"One of {', '.join(LOG_FORMATS)}")
        if not self.log_every > 0:
            raise SettingError(f"--log-every is {self.log_every:g}", "A number of seconds above 0")

    def status_of(self, status: int) -> int:
        """Return the exit status in place of 1, which says that some input was rejected."""
        return status if status != 1 or self.strict is None else 2 if self.strict else 0
