"""The options of ``passages``."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import SettingOptions, option, settings_of
from neardup.cli.options import general
from neardup.settings import ReadingSettings, names_of
from neardup.settings.rules import OUTPUT, SEARCH

# ruff: noqa: RUF009  the calls return fields


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PassagesOptions:
    """Find the passages that occur more than once, with all their places.

    Every passage of at least the given number of tokens that occurs twice or more is found, in different
    documents or in one. With --remove, each stays in one place, and the others are cut out of the texts.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup passages posts.jsonl -o repeated", "repeated passages of 50 tokens and more"),
        (
            "neardup passages posts.jsonl -o cleaned --remove --keep max:stars",
            "the texts with each passage once, in the best rated document that has it",
        ),
    )

    inputs: list[str] = general.INPUTS.field()
    out: Path | None = general.OUT.field()
    text: list[str] = general.TEXT.field()
    id: str | None = general.ID.field()
    length: int = option("--length", 50, "Fewest tokens of a passage.", "NUMBER", panel=SEARCH)
    settings: SettingOptions = settings_of(*names_of(ReadingSettings), "memory", "threads")
    remove: bool = option(
        "--remove",
        False,
        "Write kept.parquet: the texts with each repeated passage in one place; cuts.parquet has the cuts.",
        panel=OUTPUT,
    )
    annotate: bool = option(
        "--annotate",
        False,
        "Write kept.parquet with the whole texts, and a column with the bytes that --remove would cut.",
        panel=OUTPUT,
    )
    keep: str = option(
        "--keep",
        "first",
        "With --remove or --annotate: the document in which a passage stays: first, last, longest-document, or "
        "max:COLUMN, the one with the greatest number; of equal ones the first.",
        "NAME",
        panel=OUTPUT,
    )
    min_tokens: int = option(
        "--min-tokens",
        1,
        "With --remove: fewest tokens of a document after cuts; shorter ones go to short.parquet.",
        "NUMBER",
        panel=OUTPUT,
    )
    dry_run: bool = general.DRY_RUN.field()
    json: bool = general.JSON.field()
    overwrite: bool = general.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()
