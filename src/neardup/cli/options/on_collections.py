"""The options of the commands for collections: one record a command, its fields in the order of the help."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import (
    NEVER,
    CommandOptions,
    Declared,
    SettingOptions,
    argument,
    option,
    settings_of,
    settings_of_new_collection,
)
from neardup.cli.options import general
from neardup.io.place import Place
from neardup.settings import ACCESS, COMPARED, INPUT, OUTPUT, WORK, ReadingSettings, names_of

# ruff: noqa: RUF009  the calls return fields


SHARD_TOKENS = Declared(
    ("--shard-token-file",),
    None,
    "File with the token for the services of the shards.",
    "FILE",
    panel=ACCESS,
    from_file=NEVER,
)
SHARD_SECONDS = Declared(
    ("--shard-seconds",),
    5.0,
    "Time limit in seconds of a request to the service of a shard.",
    "NUMBER",
    panel=WORK,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AddOptions(CommandOptions):
    """Add documents to a collection.

    An id that exists already with another text or other metadata is an error, unless --replace is
    given. Others can write while many documents are added. If the command is stopped, those added
    before remain, and the same command again adds the rest. Files with one document each
    (text, HTML, PDF, DOCX, mail) have their paths as ids, and keep their properties as metadata:
    from, to, cc, date, subject, title, author, url. With --threshold each document is compared with the
    stored ones and those before it. With --role base the documents are boilerplate, such as
    templates, whose text counts in no document.

    Exit status: 0 done; 1 done, but some input was rejected (--problems lists it); 2 error, and
    nothing was added, or as many documents as the message says.
    """

    WITHOUT: ClassVar = {
        "threads": "one process writes to a collection at a time",
        "memory": "documents pass through in pieces",
        "resume": "the same command again adds the rest",
        "predict": "the progress shows the rate of the first pieces",
    }
    EXAMPLES: ClassVar = (
        (
            "neardup collection add library.neardup new/ --threshold 0.8",
            "documents, and what each one repeats",
        ),
        ("neardup collection search library.neardup SIMILAR:42_70", "then the documents similar to one"),
    )

    path: Place = general.NEW_COLLECTION.field()
    inputs: list[str] = general.INPUTS.field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    reading: SettingOptions = settings_of(*names_of(ReadingSettings))
    metadata: list[str] = option(
        "--meta",
        (),
        "Column to store with each document and to search by. May be repeated.",
        "COLUMN",
        panel=INPUT,
    )
    replace: bool = option("--replace", False, "Replace documents whose ids exist already.", panel=OUTPUT)
    role: str = option(
        "--role",
        "document",
        "document, or base: boilerplate, such as templates, counts in no document.",
        "NAME",
        panel=INPUT,
    )
    threshold: float | None = option(
        "--threshold",
        None,
        "Report which stored document each one repeats, from this resemblance on.",
        *general.SHARE,
        panel=COMPARED,
    )
    on_near: str | None = option(
        "--on-near",
        None,
        "With --threshold: treatment of a document that repeats another: keep (the default), link (into a group "
        "with it) or reject.",
        "NAME",
        panel=COMPARED,
    )
    near_recall: float | None = option(
        "--recall",
        None,
        "With --threshold: least share of the near documents to find; 1: all, and slower. Default: 0.99.",
        *general.SHARE,
        panel=COMPARED,
    )
    problems: Path | None = option(
        "--problems",
        None,
        "Write rejected rows and files in the form of problems.jsonl; replaces the list of an earlier run.",
        "FILE",
        panel=OUTPUT,
    )
    settings: SettingOptions = settings_of_new_collection()
    wait: float = general.WAIT.field()
    quiet: bool = general.QUIET.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RemoveOptions(CommandOptions):
    """Remove documents from a collection, all of them or none.

    Also removes everything derived from them. An unknown id is an error.
    """

    path: Place = general.COLLECTION.field()
    ids: list[str] = argument("ID", "Ids of documents.")
    wait: float = general.WAIT.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SearchOptions(CommandOptions):
    """Find the documents of a collection that fit a query.

    FINGERPRINT:<id>_<overlap %>_<probability %> finds documents that contain at least that share of a
    document. It combines with AND, OR, NOT, words, "phrases" and field>=value. All hits are verified on the
    texts.
    """

    paths: list[str] = replace(
        general.COLLECTION,
        read=None,
        help="The file of the collection; or several, the shards of one: files, URLs of PostgreSQL databases, "
        "addresses of serve.",
    ).field()
    query: str = argument("QUERY", "The query, as one argument: put it in quotes.")
    limit: int = option("--limit", 20, "Documents on a page, from 1 to 1,000.", "NUMBER")
    after: str | None = option(
        "--after", None, "The next page: the value that the previous page printed.", "TOKEN"
    )
    json: bool = general.JSON.field()
    why_not: str | None = option("--why-not", None, "Explain why the query does not find the document ID.", "ID")
    explain: bool = option("--explain", False, "Explain the meaning of the query and its look-ups in words.")
    include_self: bool = option("--include-self", False, "Include the query document itself.")
    most_compared: int | None = option(
        "--most-compared",
        None,
        "Of more candidates of a clause, compare the most promising: a bound on the time, without a promise.",
        "NUMBER",
    )
    fields: str | None = option(
        "--fields",
        None,
        "What hits hold besides, with commas: metadata, text, excerpt. Default: excerpt; with --json, nothing.",
        "NAMES",
    )
    partial: bool = option("--partial", False, "Of several shards: answer without those that do not answer.")
    shard_token_file: Path | None = SHARD_TOKENS.field()
    shard_seconds: float = SHARD_SECONDS.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GroupsOptions(CommandOptions):
    """Show the groups of a collection, by id.

    A document joins a group through add --on-near link, or through a decision. --complete compares the
    documents that were added otherwise. --regroup also brings the groups that exist to another threshold.
    """

    WITHOUT: ClassVar = {
        "quiet": "the groups are the result; --limit bounds them",
        "threads": "one process writes to a collection at a time",
        "memory": "documents are compared one by one",
        "resume": "--complete and --regroup go on where they were stopped",
        "predict": "a line for each tenth of the work says the rate",
    }
    path: Place = general.COLLECTION.field()
    complete: bool = option(
        "--complete",
        False,
        "First compare the documents that are in no group, and put those that repeat another into groups.",
    )
    regroup: bool = option(
        "--regroup",
        False,
        "First bring all groups to --threshold, then do as --complete does. Groups keep their numbers.",
    )
    threshold: float = option(
        "--threshold",
        0.8,
        "With --complete or --regroup: least resemblance to repeat a document.",
        *general.SHARE,
    )
    near_recall: float | None = option(
        "--recall",
        None,
        "With --complete or --regroup: least share of the near documents to find; 1: all. Default: 0.99.",
        *general.SHARE,
    )
    limit: int = option("--limit", 100, "Groups on a page, from 1 to 10,000.", "NUMBER")
    after: int | None = option(
        "--after", None, "The next page: the value that the previous page printed.", "NUMBER"
    )
    wait: float = general.WAIT.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ListOptions(CommandOptions):
    """List the documents of a collection in the order in which they were first added.

    A line has the id, the number of tokens, the group and the metadata of a document.
    """

    path: Place = general.COLLECTION.field()
    limit: int = option("--limit", 100, "Documents on a page, from 1 to 10,000.", "NUMBER")
    after: int | None = option(
        "--after", None, "The next page: the value that the previous page printed.", "NUMBER"
    )
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BackupOptions(CommandOptions):
    """Copy a collection into a new file, while others read and write it.

    The copy is the state at its beginning. It appears complete or not at all.
    """

    WITHOUT: ClassVar = {
        "quiet": "one line says the result",
        "threads": "pages are copied in their order",
        "memory": "pages are copied one by one",
        "resume": "the copy appears whole or not at all",
        "predict": "it takes as long as copying the file",
    }
    path: Place = general.COLLECTION.field()
    file: Path = argument("FILE", "The copy, a new file.")
    wait: float = general.WAIT.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DecideOptions(CommandOptions):
    """Decide whether two documents of a collection belong together.

    "duplicate" and "keep both": from then on they are in one group, whatever their similarity. "not alike":
    they never are. "unsure" changes nothing. undecided withdraws a decision. A decision that contradicts
    others is refused.
    """

    path: Place = general.COLLECTION.field()
    a: str = argument("A", "Id of a document.")
    b: str = argument("B", "Id of another document.")
    verdict: str = argument(
        "VERDICT", 'duplicate, "keep both", "not alike", unsure, or undecided, which withdraws a decision.'
    )
    by: str = option("--by", "", "Name of the person who decides, for the change log.", "NAME")
    note: str = option("--note", "", "Reason, for the change log.", "TEXT")
    wait: float = general.WAIT.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TagOptions(CommandOptions):
    """Tag documents of a collection: by id, a whole group, or all that a query finds.

    neardup collection search finds them by tag:NAME. The tags are in the history of decisions, and --undo
    restores those from before. neardup export --what tags writes them, and neardup import adds those of a file.
    """

    path: Place = general.COLLECTION.field()
    tag: str | None = Declared(
        (), None, "The tag: any text on one line without semicolons; none with --undo.", "TAG", panel=INPUT
    ).field()
    ids: list[str] = option("--id", (), "Id of a document to tag. May be repeated.", "ID")
    group: int | None = option("--group", None, "Tag all members of this group.", "NUMBER")
    query: str | None = option("--query", None, "Tag all documents that this query finds.", "QUERY")
    take_away: bool = option("--remove", False, "Take the tag away.")
    undo: bool = option("--undo", False, "Undo the last action of --by, of tags or of decisions.")
    action: int | None = option("--action", None, "Undo this action: its number, as it was printed.", "NUMBER")
    by: str = option("--by", "", "Name of the person who tags or undoes, for the history.", "NAME")
    wait: float = general.WAIT.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServeOptions(CommandOptions):
    """Serve a collection over HTTP until it is stopped.

    Without --token-file all users of this machine may read and write, and nobody else. Needs
    the extra service. Ctrl-C or SIGTERM finishes pending requests and stops; a second one stops at once.
    """

    path: Place | None = replace(
        general.COLLECTION, default=None, help="The file of the collection; none with --shard."
    ).field()
    shard: list[str] = Declared(
        ("--shard",),
        (),
        "Serve several collections as one: a file, the URL of a PostgreSQL database, or the address of another "
        "serve. Once for each shard, always in the same order.",
        "PLACE",
        panel=ACCESS,
        from_file=NEVER,
    ).field()
    shard_token_file: Path | None = SHARD_TOKENS.field()
    shard_seconds: float = SHARD_SECONDS.field()
    host: str = general.HOST.field()
    port: int = option(
        "--port", 8321, "Port to listen at; 0 for any free port.", "NUMBER", panel=ACCESS, from_file=NEVER
    )
    token_file: Path | None = general.TOKEN_FILE.field()
    create: bool = option("--create", False, "Create the collection if it does not exist.", panel=ACCESS)
    read_only: bool = option("--read-only", False, "Refuse every change, and only read the file.", panel=ACCESS)
    page: bool = option(
        "--page", False, "Also serve pages, at /review/, on which people decide about the groups.", panel=ACCESS
    )
    wait: float = general.WAIT.field()
    largest_body: float = option(
        "--largest-body", 64.0, "Largest number of megabytes of a request.", "NUMBER", panel=WORK
    )
    most_hits: int = option(
        "--most-hits", 1000, "Largest number of hits on a page, from 1 to 1,000.", "NUMBER", panel=WORK
    )
    most_candidates: int = option(
        "--most-candidates", 100_000, "Largest number of documents that a search compares.", "NUMBER", panel=WORK
    )
    seconds: float = option("--seconds", 10.0, "Time limit of a request in seconds.", "NUMBER", panel=WORK)
    requests: int = option(
        "--requests", 200, "Largest number of concurrent requests; more are refused.", "NUMBER", panel=WORK
    )
    threads: int = option("--threads", 2, "Number of threads that read, in each process.", "NUMBER", panel=WORK)
    workers: int = option(
        "--workers",
        1,
        "Number of processes that serve the collection; one that dies is replaced.",
        "NUMBER",
        panel=WORK,
    )
    stop_seconds: float = option(
        "--stop-seconds", 30.0, "Seconds to finish pending requests when the service stops.", "NUMBER", panel=WORK
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InfoOptions(CommandOptions):
    """Show the size and settings of a collection."""

    path: Place = general.COLLECTION.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckOptions(CommandOptions):
    """Check a collection: derive everything from the texts again, and compare.

    Exit status: 0 no fault; 2 faults were found.
    """

    WITHOUT: ClassVar = {
        "quiet": "one line says the result",
        "threads": "a check follows the order of the file",
        "memory": "documents are looked at one by one",
        "resume": "a check of half of a file is none",
        "predict": "progress shows the rate",
    }
    path: Place = general.COLLECTION.field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompactOptions(CommandOptions):
    """Rewrite a collection without free space, and without the words of removed documents.

    Needs free disk space of the size of the file, and no other reader or writer.
    """

    WITHOUT: ClassVar = {
        "quiet": "one line says the result",
        "threads": "one process writes to a collection at a time",
        "memory": "the store copies page by page",
        "resume": "the copy takes the place of the file when it is whole",
        "predict": "it takes as long as copying the file",
    }
    path: Place = general.COLLECTION.field()
    upgrade: bool = option("--upgrade", False, "Convert a file of an earlier version to this one; copy it first.")
    wait: float = general.WAIT.field()
    json: bool = general.JSON.field()


# ruff: noqa: RUF009  the calls return fields


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class McpOptions(CommandOptions):
    """Offer compare, find, search and passages to an agent (Model Context Protocol), on standard input and output.

    Only files below --root can be read, and nothing is changed unless --write is given. Needs the extra mcp.
    """

    root: list[Path] = Declared(
        ("--root",),
        (),
        "Folder whose files may be read; by default the working folder. May be repeated.",
        "DIR",
        from_file=NEVER,
    ).field()
    write: bool = option(
        "--write", False, "Also offer a tool that adds documents to collections.", from_file=NEVER
    )
    largest: float = option("--largest", 64.0, "Largest number of megabytes of files in one call.", "NUMBER")
    seconds: float = option("--seconds", 60.0, "Time limit of a call in seconds.", "NUMBER")
