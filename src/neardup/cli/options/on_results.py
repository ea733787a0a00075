"""The options of the commands on results: each command receives one record, whose documentation is its help."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import (
    NEVER,
    OUTPUT_AT_URL,
    REQUIRED,
    WHOLE_AT_URL,
    CommandOptions,
    Declared,
    argument,
    option,
)
from neardup.cli.options import general
from neardup.io.place import Place

# ruff: noqa: RUF009  the calls return fields


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShowOptions(CommandOptions):
    """Show a document of a result: where it is, whether it is kept and why, its group, and the nearest others.

    The nearest others are the documents just outside the group, by the stored pairs. Exit status: 0
    done; 2 error.
    """

    out: Path = general.RESULT.field()
    id: str = argument(
        "ID", "The id of a document: of the input, else of the reference set; old:ID and new:ID say which."
    )
    limit: int = option("--limit", 10, "Largest number of members, and of documents outside, to list.", "NUMBER")
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerifyOptions(CommandOptions):
    """Derive a result again from its documents, in plain Python, and compare all of its tables and rows.

    The program that does it is one file without any of the code that made the result: neardup/verifier.py, which
    runs by itself. Exit status: 0 everything was looked at, and is right; 1 a difference; 2 error; 3 no
    difference was seen, but some parts, which are listed, were not looked at. With --report it counts
    the figures and rows of a report again, and writes its page again: both are as in the result, or it
    names each difference.
    """

    WITHOUT: ClassVar = {
        "quiet": "the list of the parts that were not looked at is half of the result",
        "threads": "plain Python in one thread, so that people can follow it",
        "memory": "it holds the units of the documents, as the plainest program would",
        "resume": "a verdict on half of a result is none; --sample N bounds the work",
        "predict": "--sample N bounds the work",
    }
    EXAMPLES: ClassVar = (
        ("neardup verify cleaned", "every table, kept row and count is derived again"),
        ("neardup verify cleaned --report report.html", "the figures and rows of a mailed page are counted again"),
    )

    out: Path = replace(general.RESULT, at_url=WHOLE_AT_URL).field()
    inputs: list[str] = Declared(
        (), (), "The inputs, if they are elsewhere: files of the same names.", "IN"
    ).field()
    report: Path | None = option(
        "--report", None, "In place of the result: a page of neardup report about it, compared with it.", "PAGE"
    )
    sample: int = option("--sample", 0, "Count this many pairs, drawn at random, in place of all.", "NUMBER")
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportOptions(CommandOptions):
    """Write a page about a result, to hand over: inputs, method, figures, open questions and groups.

    The page needs no network and runs no script, and neardup verify --report compares it with the result.
    --pairs or --megabytes adds an appendix: the groups and pairs to look at first, and texts side by side.
    Exit status: 0 done; 2 error.
    """

    result: Path = general.RESULT.field()
    page: Path = Declared(
        ("-o", "--out"), REQUIRED, "The HTML page to write.", "FILE", at_url=OUTPUT_AT_URL
    ).field()
    title: str = option("--title", "", "Name of the matter; by default the name of the folder.", "NAME")
    by: str = replace(general.BY_NAME, help="Your name on the page; by default your account.").field()
    most_pairs: int = option("--pairs", 0, "Number of pairs to show side by side, up to 100.", "NUMBER")
    most_groups: int = option("--groups", 200, "Number of groups in a list, up to 1,000.", "NUMBER")
    megabytes: float = option(
        "--megabytes", 0.0, "Size of the groups that can be opened side by side, up to 100.", "NUMBER"
    )
    overwrite: bool = replace(general.OVERWRITE, help="Replace the page if it exists.").field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReviewOptions(CommandOptions):
    """Review a result in a browser: look at groups and pairs, and decide.

    The decisions are stored in the result folder. Without --token-file all users of this machine may read and
    decide, and nobody else. Needs the extra service. Ctrl-C stops.
    """

    out: Path = general.RESULT.field()
    by: str = general.BY_NAME.field()
    host: str = general.HOST.field()
    port: int = option("--port", 8322, "Port to listen at; 0 for any free port.", "NUMBER", from_file=NEVER)
    token_file: Path | None = general.TOKEN_FILE.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ApplyOptions(general.ResultOptions):
    """Write the documents that are kept after the review of a result, as people decided.

    Nothing is compared again: the groups are those of the result, changed by the decisions in its
    folder, and the documents are read again from its input. Without decisions these are the documents
    that the run keeps.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    WITHOUT = general.WITHOUT_IN_COPYING
    result: Path = replace(general.RESULT, help="A result folder, with the decisions of a review.").field()
    out: Path | None = general.OUT_OR_STREAM.field()
    moved: list[str] = replace(
        general.MOVED, help="The input where it is now, if it has moved. May be repeated."
    ).field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RegroupOptions(general.ResultOptions):
    """Group the pairs of an earlier result at a stricter threshold.

    No documents are read, and all other settings are those of the result.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    WITHOUT: ClassVar = {
        "threads": "the stored pairs are read once, in seconds",
        "memory": "the stored pairs are in memory",
        "resume": "it takes seconds",
        "predict": "it takes seconds",
    }
    result: Path = general.RESULT.field()
    stricter: float = Declared(
        ("--threshold",), REQUIRED, "A threshold stricter than in the result.", *general.SHARE
    ).field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExportOptions(CommandOptions):
    """Write the groups, decisions, tags or pairs of a reviewed result as a file for another program.

    csv, jsonl, parquet, xlsx, or dat, the load file of review platforms: þ around values, the control
    character 20 between them; pairs also as graphml. Also the groups, decisions, pairs and documents of a
    collection. Exit status: 0 done; 2 error.
    """

    out: Place = general.RESULT_OR_COLLECTION.field()
    file: Path = Declared(
        ("-o", "--out"), REQUIRED, "File to write; - is standard output.", "FILE", at_url=OUTPUT_AT_URL
    ).field()
    what: str = option(
        "--what",
        "groups",
        "groups: each member of a group, with its verdict, tags and whether it is kept. decisions: each decision, "
        "with its author and time. tags: the documents with tags. pairs: the edges of a graph, which are the "
        "pairs and exact copies of a result, or the members of groups of a collection, each with its "
        "representative. "
        "documents: the documents of a collection, as jsonl or parquet. kept: those of them that are kept: in no "
        "group, representatives, and by decision (keep both).",
        "NAME",
    )
    every: bool = option(
        "--all",
        False,
        "With groups: also each document in no group, read from the input, and each attachment of a mail.",
    )
    moved: list[str] = replace(
        general.MOVED, help="With --all: the input where it is now, if it has moved. May be repeated."
    ).field()
    around: str | None = option(
        "--around", None, "With --what pairs: only those among this document and its neighbours.", "ID"
    )
    hops: int | None = option(
        "--hops",
        None,
        "With --around: the longest way to a neighbour, 1 to 10; 2: also neighbours of neighbours. Default: 1.",
        "NUMBER",
    )
    most: int = option(
        "--most", 1000, "With --around: the most documents, the nearest first, up to 100,000.", "NUMBER"
    )
    form: str | None = option(
        "--format",
        None,
        "csv, jsonl, parquet, dat or xlsx; pairs also graphml. Default: the suffix of the file.",
        "NAME",
    )
    overwrite: bool = replace(general.OVERWRITE, help="Replace an earlier export.").field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImportOptions(CommandOptions):
    """Read tags and decisions from a file of another program into a result or a collection.

    The file is csv, jsonl, parquet, dat or xlsx, with a column of ids and one of tags, separated by
    semicolons. Of a table of groups that neardup export wrote, changed values of verdict and fate of a result
    are stored, too; into a collection, a table of decisions (export --what decisions). An empty cell
    changes nothing, none withdraws. Verdicts on pairs that wait for the second verdict of this person
    are left out. Exit status: 0 done; 1 done, but something was left out: unknown ids, or such pairs; 2 error.
    """

    out: Place = general.RESULT_OR_COLLECTION.field()
    file: Path = Declared((), REQUIRED, "A file with ids and tags.", "FILE").field()
    by: str = Declared(("--by",), REQUIRED, "Name of the person who added the tags.", "NAME").field()
    form: str | None = option(
        "--format", None, "csv, jsonl, parquet, dat or xlsx. Default: the suffix of the file.", "NAME"
    )
    id: str = option("--id", "id", "Column with the ids of the documents, as in the result.", "COLUMN")
    tags: str = option("--tags", "tags", "Column with the tags, separated by semicolons.", "COLUMN")

    @property
    def columns(self) -> tuple[str, str]:
        """The columns with the ids and the tags."""
        return self.id, self.tags
