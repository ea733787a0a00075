"""``neardup plan``: bands × rows for a threshold and a recall; with documents, advice on them.

With ``--simhash``, ``plan_simhash.py`` shows the tables for a Hamming distance.
"""

from __future__ import annotations

import json as notation
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.messages import DONE, REJECTED, warn
from neardup.cli.shown import watcher
from neardup.errors import InputError, OutputError, SettingError
from neardup.settings import FIELDS

if TYPE_CHECKING:
    from neardup.advice import Advice
    from neardup.lsh.bands import Plan

BAR = 40
STEPS = 20

OF_SIMHASH = ("bits", "distance", "documents")
"""Options that belong to ``--simhash``."""

PLANNED = ("threshold", "recall", "slots")
"""The settings of a plan; all others need documents."""


def plan(sample: list[str], json: bool, simhash: bool, **typed: Any) -> int:
    """Show the bands for a threshold and a recall; with documents, advise on them.

    Without documents: the bands, and the probability with which pairs of each resemblance are found.
    With a SAMPLE of your documents: their resemblances, the removals at each threshold, the pairs
    closest to the threshold, traps, recall and cost of other settings, and the command to type.
    With --simhash: the tables for a Hamming distance, without settings of MinHash and without SAMPLE.
    """
    given = {name: value for name in OF_SIMHASH if (value := typed.pop(name)) is not None}
    if simhash:
        return _plan_simhash(sample, json, given, typed)
    if given:
        raise SettingError(f"--{next(iter(given))} belongs to --simhash", "", "Give --simhash too")
    if not sample:
        return _plan(json, typed)
    svg: Path | None = typed.pop("svg")
    _refuse_unusable_image(svg)
    advice = _advice(sample, **typed) if svg is None else _drawn(svg, sample, typed)
    typer.echo(notation.dumps(advice.as_dict(), indent=2, ensure_ascii=False) if json else str(advice))
    if advice.sample.rejected:
        rows = display.counted(advice.sample.rejected, "row")
        warn(f"{rows} rejected.\nThe first: {display.printable(advice.sample.first_problem)}")
        return REJECTED
    return DONE


def _drawn(svg: Path, sample: list[str], typed: dict[str, Any]) -> Advice:
    """Return advice, and write it as an image, too."""
    from neardup.io.writers import OutputImage, common_access

    # opened before the work, so that an unwritable image is reported at once
    with OutputImage(svg, access=common_access(sample)) as image:
        advice = _advice(sample, **typed)
        image.write(advice.svg())
    return advice


def _advice(sample: list[str], text: str | None, id: str | None, **settings: Any) -> Advice:
    from neardup.advice import advise_on
    from neardup.advice.adviser import checked
    from neardup.io.readers import choose_columns, open_files

    chosen = checked(settings)
    documents = open_files(sample, reading=chosen.reading)
    columns = choose_columns(documents, text, id)
    files = [f"./{name}" if name.startswith("-") else name for name in sample]
    told = {"--text": text, "--id": id, **{f"--{name}": settings[name] for name in ("encoding", "delimiter")}}
    named = [part for option, name in told.items() if name and name != "auto" for part in (option, name)]
    with watcher() as progress:
        return advise_on(documents, columns, chosen, [*files, *named], progress)


def _refuse_unusable_image(path: Path | None) -> None:
    """Raise OutputError before the work rather than after it, and never overwrite documents."""
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        given = f"{path} cannot be the name of an image"
        raise OutputError(given, "A name that ends in .svg", "Choose such a name")
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {path.parent}", "A folder that exists", "Make it first")


def _plan_simhash(sample: list[str], json: bool, given: dict[str, int], typed: dict[str, Any]) -> int:
    from neardup.cli.plan_simhash import show

    if sample:
        raise SettingError("--simhash and a SAMPLE were given", "--simhash alone", "Drop one of the two")
    return show(json, given, {name: typed[name] for name in PLANNED})


def _plan(json: bool, typed: dict[str, Any]) -> int:
    """Print the bands alone."""
    from neardup.lsh.bands import plan as planned

    _refuse_without_documents(typed)
    chosen = planned(**{name: typed[name] for name in PLANNED})
    if json:
        typer.echo(notation.dumps(chosen.as_dict(), indent=2))
        return DONE
    for line in _lines(chosen):
        typer.echo(line)
    return DONE


def _refuse_without_documents(typed: dict[str, Any]) -> None:
    for name, value in typed.items():
        unset = FIELDS[name].default if name in FIELDS else None
        if name not in PLANNED and value != unset:
            raise InputError(
                f"--{name} was given without documents",
                "Only threshold, recall and slots, since bands do not depend on documents",
                "Name some of your documents, or leave it out",
            )


def _lines(chosen: Plan) -> Iterator[str]:
    found = chosen.probability(chosen.threshold)
    facts = [
        ("bands", f"{len(chosen.bands)}: {_bands(chosen.bands)}; {chosen.slots} slots, all used"),
        (
            "recall",
            f"{display.similarity(found, 4)} planned at resemblance {chosen.threshold:g} "
            f"({display.similarity(chosen.recall, 4)} asked for), more above it",
        ),
    ]
    yield from display.aligned(facts)
    yield ""
    yield "resemblance   becomes a candidate with probability"
    points = {step / STEPS for step in range(2, STEPS + 1)} | {chosen.threshold}
    for similarity in sorted(points):
        probability = chosen.probability(similarity)
        bar = "#" * round(BAR * probability)
        mark = f"{bar:<{BAR}}  <- threshold" if similarity == chosen.threshold else bar
        yield f"       {similarity:<6g} {display.similarity(probability, 4)}  {mark}".rstrip()
    yield ""
    yield "Every candidate is then compared exactly: a low probability below the threshold saves time,"
    yield "and no pair below it is reported."


def _bands(bands: tuple[int, ...]) -> str:
    """Return the bands in words, equal ones together: 14 of 7 rows, 5 of 6 rows."""
    counts = Counter(bands).items()
    return ", ".join(f"{count} of {display.counted(rows, 'row')}" for rows, count in counts)
