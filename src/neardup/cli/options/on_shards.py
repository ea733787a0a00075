"""The options of the commands that work in parts: one record a command, its fields in the order of the help."""

# ruff: noqa: RUF009  the calls return fields

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from neardup.cli.option import REQUIRED, Declared, SettingOptions, all_settings, argument, option
from neardup.cli.options import shared
from neardup.settings.panels import EARLIER, INPUT, OUTPUT

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
    Texts are read again where they were fingerprinted, or below --inputs, only to verify pairs. Where
    they cannot be read, --wanted asks for shingle sets, and --shingles takes them.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """

    EXAMPLES: ClassVar = (
        ("neardup merge fp -o merged", "near copies among all parts"),
        ("neardup dedup part-1.jsonl --merged merged -o kept-1", "then the kept rows of each part"),
    )

    parts: list[str] = PARTS.field()
    out: Path | None = shared.OUT.field()
    settings: SettingOptions = all_settings()
    key: Path | None = shared.KEY.field()
    moved: list[str] = replace(
        shared.MOVED, help="The texts of the parts where they are now, if they have moved. May be repeated."
    ).field()
    wanted: Path | None = option(
        "--wanted",
        None,
        "Only write a request for the shingle sets that this merge needs, for neardup shingles; read no texts.",
        "FILE",
        panel=OUTPUT,
    )
    shingles: list[str] = Declared(
        ("--shingles",),
        (),
        "Answer of neardup shingles for a part: its texts are not read. May be repeated.",
        "FILE",
        panel=EARLIER,
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
class ShinglesOptions:
    """Answer a merge that cannot read the texts of a part: write the shingle sets it wants.

    The sets are hashed under the key of the parts. Keep them as private as the texts.
    """

    part: str = argument("FP", "The folder of fingerprints of a part whose texts can be read here.")
    request: Path | None = option("--for", None, "The request that neardup merge --wanted has written.", "FILE")
    out: Path | None = Declared(("-o", "--out"), None, "File for the answer, written atomically.", "FILE").field()
    key: Path | None = shared.KEY.field()
    moved: list[str] = replace(
        shared.MOVED, help="The texts of the part where they are now, if they have moved. May be repeated."
    ).field()
    overwrite: bool = replace(shared.OVERWRITE, help="Replace the answer if it exists.").field()
