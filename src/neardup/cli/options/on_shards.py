"""The options of the commands that work in parts: one record a command, its fields in the order of the help."""

# ruff: noqa: RUF009  the calls return fields

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import REQUIRED, Declared, SettingOptions, all_settings, option
from neardup.cli.options import shared
from neardup.settings.fields import EARLIER, INPUT, OUTPUT

PARTS = Declared(
    (), REQUIRED, "Folders of fingerprints, or a folder of them, in the order of the documents.", "FP", panel=INPUT
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FingerprintOptions:
    """Fingerprint one part of the documents, for neardup merge.

    Parts can be fingerprinted in any number, on any machine and in any order. All parts need the same
    settings and the same key. The folder holds places of texts, not texts.

    Exit status: 0 done; 1 done, but some input was rejected; 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup fingerprint part-1.jsonl -o fp/1", "the first pass over a part, on any machine"),
        ("neardup merge fp -o merged", "then all parts together"),
    )

    inputs: list[str] = replace(shared.INPUTS, default=()).field()
    out: Path | None = Declared(
        ("-o", "--out"), None, "Folder for the fingerprints of this part, written atomically.", "FP", panel=OUTPUT
    ).field()
    text: list[str] = shared.TEXT.field()
    id: str | None = shared.ID.field()
    settings: SettingOptions = all_settings()
    key: Path | None = shared.KEY.field()
    new_key: Path | None = option(
        "--new-key",
        None,
        "Only make a key file, for parts on machines that share no folder.",
        "FILE",
        panel=EARLIER,
    )
    json: bool = shared.JSON.field()
    overwrite: bool = shared.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MergeOptions:
    """Group the documents of fingerprinted parts, as one run over all of them would.

    Settings that fingerprints do not depend on may be chosen here; the others are those of the parts.
    Texts are read again where they were fingerprinted, or below --inputs, only to verify pairs.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup merge fp -o merged", "near copies among all parts"),
        ("neardup part part-1.jsonl --of merged -o kept-1", "then the kept rows of each part"),
    )

    parts: list[str] = PARTS.field()
    out: Path | None = shared.OUT.field()
    settings: SettingOptions = all_settings()
    key: Path | None = shared.KEY.field()
    moved: list[str] = replace(
        shared.MOVED, help="The texts of the parts where they are now, if they have moved. May be repeated."
    ).field()
    name_groups: bool = option(
        "--name-groups",
        False,
        "Store the names of the groups beside the fingerprints, so that dedup --update keeps them.",
        panel=OUTPUT,
    )
    store_texts: bool = shared.STORE_TEXTS.field()
    dry_run: bool = shared.DRY_RUN.field()
    json: bool = shared.JSON.field()
    overwrite: bool = shared.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartOptions:
    """Write the documents of one part that the merged result of all parts keeps.

    The input is that of the part, as it was fingerprinted.
    """

    inputs: list[str] = replace(shared.INPUTS, help="The files or folders of the part.").field()
    merged: Path = Declared(("--of",), REQUIRED, "The result into which the part was merged.", "OUT").field()
    out: Path | None = shared.OUT_OR_STREAM.field()
    dry_run: bool = shared.DRY_RUN.field()
    json: bool = shared.JSON.field()
    overwrite: bool = shared.OVERWRITE.field()
    explicit: frozenset[str] = frozenset()
