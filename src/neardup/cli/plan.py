"""``neardup plan``: bands × rows for a threshold and a recall; with documents, advice on them.

With ``--simhash``, ``plan_simhash.py`` shows the tables for a Hamming distance.
"""

from __future__ import annotations

import json as notation
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.messages import DONE, REJECTED, warn
from neardup.cli.option import options_of
from neardup.cli.options.on_files import PLANNED, READING, PlanOptions
from neardup.cli.shown import watcher
from neardup.errors import InputError, OutputError, SettingError
from neardup.settings import FIELDS

if TYPE_CHECKING:
    from neardup.advice import Advice
    from neardup.lsh.bands import Plan

BAR = 40
STEPS = 20

WITHOUT_DOCUMENTS = frozenset({"sample", "json", "threshold", "recall", "slots"})
"""Options of the bands alone; all others need documents."""


def plan(options: PlanOptions) -> int:
    """Show the bands for a threshold and a recall; with documents, advise on them."""
    if options.simhash:
        return _plan_simhash(options)
    _refuse_simhash_options(options)
    if not options.sample:
        return _plan(options)
    _refuse_unusable_image(options.svg)
    advice = _advice(options) if options.svg is None else _drawn(options.svg, options)
    typer.echo(notation.dumps(advice.as_dict(), indent=2, ensure_ascii=False) if options.json else str(advice))
    if advice.sample.rejected:
        rows = display.counted(advice.sample.rejected, "row")
        warn(f"{rows} rejected.\nThe first: {display.printable(advice.sample.first_problem)}")
        return REJECTED
    return DONE


def _refuse_simhash_options(options: PlanOptions) -> None:
    for name, value in (
        ("bits", options.bits),
        ("distance", options.distance),
        ("documents", options.documents),
    ):
        if value is not None:
            raise SettingError(f"--{name} belongs to --simhash", "", "Give --simhash too")


def _drawn(svg: Path, options: PlanOptions) -> Advice:
    """Return advice, and write it as an image, too."""
    from neardup.io.writers import OutputImage, common_access

    # opened before the work, so that an unwritable image is reported at once
    with OutputImage(svg, access=common_access(options.sample)) as image:
        advice = _advice(options)
        image.write(advice.svg())
    return advice


def _advice(options: PlanOptions) -> Advice:
    from neardup.advice import advise_on
    from neardup.advice.adviser import checked
    from neardup.io.readers import choose_columns, open_files
    from neardup.io.readers.fields import joined
    from neardup.join.base_documents import open_base

    given = options.settings.read()
    chosen = checked({name: getattr(given, name) for name in PLANNED})
    documents = open_files(options.sample, reading=chosen.reading)
    columns = choose_columns(documents, options.text, options.id)
    files = [f"./{name}" if name.startswith("-") and name != "-" else name for name in options.sample]
    told = {
        "--text": joined(options.text),
        "--id": options.id,
        **{FIELDS[name].option: getattr(given, name) for name in READING},
    }
    usual = ("auto", "all")
    named = [part for option, name in told.items() if name and name not in usual for part in (option, name)]
    named += [part for name in options.ignore for part in ("--ignore", name)]
    base = open_base(options.ignore, columns, chosen.reading)
    with watcher() as progress:
        return advise_on(documents, columns, chosen, [*files, *named], progress, base)


def _refuse_unusable_image(path: Path | None) -> None:
    """Raise OutputError before the work rather than after it, and never overwrite documents."""
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        given = f"{path} cannot be the name of an image"
        raise OutputError(given, "A name that ends in .svg", "Choose such a name")
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {path.parent}", "A folder that exists", "Make it first")


def _plan_simhash(options: PlanOptions) -> int:
    from neardup.cli.plan_simhash import show

    if options.sample:
        raise SettingError("--simhash and a SAMPLE were given", "--simhash alone", "Drop one of the two")
    return show(options)


def _plan(options: PlanOptions) -> int:
    """Print the bands alone."""
    from neardup.lsh.bands import plan as planned

    _refuse_without_documents(options)
    given = options.settings
    chosen = planned(threshold=given.threshold, recall=given.recall, slots=given.slots)
    if options.json:
        typer.echo(notation.dumps(chosen.as_dict(), indent=2))
        return DONE
    for line in _lines(chosen):
        typer.echo(line)
    return DONE


def _refuse_without_documents(options: PlanOptions) -> None:
    for option in options_of(PlanOptions):
        if option.name not in WITHOUT_DOCUMENTS and option.name in options.explicit:
            raise InputError(
                f"{option.spelling[-1]} was given without documents",
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
