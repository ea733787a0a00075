"""The options of the commands on few documents or a sample: one record a command, in the order of the help."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import CommandOptions, Declared, SettingOptions, argument, option, setting, settings_of
from neardup.cli.options import general
from neardup.cli.options.on_files import READING
from neardup.settings import COMPARED, COMPARISON, INPUT, OUTPUT, SEARCH, SELECTION, Shingles, names_of

# ruff: noqa: RUF009  the calls return fields


PLANNED = ("threshold", "recall", "sketch", *names_of(Shingles), *SELECTION, *READING, "threads")
"""The settings of ``plan``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareOptions(CommandOptions):
    """Show the common text of two documents, side by side, with all measures.

    Text, HTML, PDF, DOCX and mail. Exit status: 0 done, whether the documents are equal or not; 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup compare draft.docx final.pdf", "two files, side by side"),
        ("neardup compare cleaned 17 42 --html pair.html", "two documents of a result, as a page"),
        ("neardup compare draft.docx final.pdf --docx redline.docx", "the differences as tracked changes of Word"),
    )

    a: str = argument(
        "A",
        "A document: text, HTML, PDF, DOCX, mail; - is standard input; FILE#ROW is a row of a data file. Or a "
        "result folder or a collection, if two ids follow.",
    )
    b: str = argument("B", "The document to compare with it, or the id of a document.")
    other: str | None = Declared((), None, "The id of the other document.", "ID", panel=INPUT).field()
    text: list[str] = replace(general.TEXT, help=f"With FILE#ROW: {general.TEXT.help}").field()
    literal: bool = general.LITERAL.field()
    settings: SettingOptions = settings_of(*READING, *COMPARISON)
    min_chunk: int | None = option(
        "--min-chunk",
        None,
        "Fewest tokens (or characters) of a match. Default: the length of a shingle.",
        "NUMBER",
        panel=COMPARED,
    )
    ignore: list[str] = general.IGNORE.field()
    html: Path | None = option(
        "--html", None, "Write an HTML page with both texts instead of printing them.", "FILE", panel=OUTPUT
    )
    docx: Path | None = option(
        "--docx",
        None,
        "Write the second text as a Word document whose tracked changes lead from the first, instead of printing.",
        "FILE",
        panel=OUTPUT,
    )
    full: bool = option(
        "--full", False, "Show long passages in full, equal ones too, instead of folding them.", panel=OUTPUT
    )
    every: bool = option("--all", False, "Show all measures, instead of six with a sentence each.", panel=OUTPUT)
    width: int | None = option(
        "--width",
        None,
        "Columns to use, at least 60; side by side from 100 on. Default: those of the terminal, else 80.",
        "NUMBER",
        panel=OUTPUT,
    )
    json: bool = general.JSON.field()
    overwrite: bool = replace(general.OVERWRITE, help="Replace the files if they exist.").field()

    @property
    def written(self) -> list[Path]:
        """The files to write."""
        return [path for path in (self.html, self.docx) if path is not None]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanOptions(CommandOptions):
    """Show the bands for a threshold and a recall; with documents, advise on them.

    Without documents: the bands, and the probability with which pairs of each resemblance are found.
    With a SAMPLE of your documents: the gap between versions and unrelated documents, the effect of each
    threshold, the closest pairs, traps, recall and cost, and a command that separates them.
    With --sketch simhash: the tables for a Hamming distance, without SAMPLE.
    """

    WITHOUT: ClassVar = {
        "quiet": "the advice is the result",
        "memory": "a sample of bounded size is in memory",
        "resume": "a sample takes seconds",
        "predict": "a sample takes seconds",
    }
    EXAMPLES: ClassVar = (
        ("neardup plan posts.jsonl", "advice on the threshold, from a sample of the documents"),
        ("neardup plan --threshold 0.7 --recall 0.999", "the bands that find such pairs"),
    )

    sample: list[str] = Declared(
        (),
        (),
        "Your documents (files or folders), to get advice on them instead of bands alone.",
        "SAMPLE",
        panel=INPUT,
    ).field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    settings: SettingOptions = settings_of(*PLANNED)
    ignore: list[str] = general.IGNORE.field()
    svg: Path | None = option(
        "--svg",
        None,
        "Also write an image: of the bands alone, the probability of finding a pair; with documents, pairs and "
        "removals by threshold.",
        "FILE.svg",
        panel=OUTPUT,
    )
    documents: int | None = option(
        "--documents",
        None,
        "With --sketch simhash: number of fingerprints. Default: 1,000,000.",
        "NUMBER",
        panel=SEARCH,
    )
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExplainOptions(CommandOptions):
    """Show the textbook tables for a few small documents.

    Shingles, hash functions, signatures, exact and estimated similarity, and the share of a common
    chunk in three measures. A shingle has three words, as in textbooks; in the other commands five.
    """

    names: list[str] = Declared((), (), "Two to ten small files; - is standard input.", "IN", panel=INPUT).field()
    literal: bool = general.LITERAL.field()
    example: bool = option("--example", False, "Explain three sentences of a published walk-through.", panel=INPUT)
    length: int = setting("length", default=3)
    unit: str = setting("unit")
    family: str = option(
        "--family",
        "mod-p",
        "Hash functions: mod-p, multiply-shift, classic, one-permutation, permutations, several with commas, or "
        "all.",
        "NAME",
        panel=COMPARED,
    )
    numbers: str | None = option(
        "--slots",
        None,
        "Number of hash functions, from 1 to 65,536 (classic and one-permutation: 4,096), or several numbers with "
        "commas. Default: 4.",
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
    modulus: int | None = option(
        "--modulus",
        None,
        "The p of mod-p, any number from 2. Default: the smallest prime above the row numbers.",
        "NUMBER",
        panel=COMPARED,
    )
    orders: str | None = option(
        "--orders",
        None,
        "The permutations themselves: all row numbers in their order, for example 1:4:0:3:2, several with commas.",
        "ROW:ROW",
        panel=COMPARED,
    )
    first_row: int = option(
        "--first-row", 1, "Number of the first row: 0 in many textbooks.", "NUMBER", panel=COMPARED
    )
    band_rows: int | None = option(
        "--band-rows",
        None,
        "Rows of a band. Default, for one family and number of slots: as many as find half of the pairs of "
        "resemblance .5.",
        "NUMBER",
        panel=COMPARED,
    )
    html: Path | None = option(
        "--html", None, "Write an HTML page instead of printing the tables.", "FILE", panel=OUTPUT
    )
    overwrite: bool = replace(general.OVERWRITE, help="Replace the page if it exists.").field()
    json: bool = general.JSON.field()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DemoOptions(CommandOptions):
    """Find the near copies in a small sample, and show the evidence."""

    json: bool = general.JSON.field()
