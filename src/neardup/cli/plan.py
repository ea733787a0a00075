"""``neardup plan``: bands × rows for a threshold and a recall; with documents, advice on them.

With ``--sketch simhash``, the tables for a Hamming distance.
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
from neardup.cli.options.on_files import READING
from neardup.cli.options.on_samples import PLANNED, PlanOptions
from neardup.cli.output import watcher
from neardup.errors import InputError, OutputError, SettingError
from neardup.settings import FIELDS

if TYPE_CHECKING:
    from neardup.corpus.advice import Advice
    from neardup.deduplication.pairs import Design, HammingPlan, Plan


BAR = 40
STEPS = 20

WITHOUT_DOCUMENTS = frozenset({"sample", "json", "svg", "threshold", "recall", "sketch"})
"""Options of the bands alone; all others need documents."""


DOCUMENTS = 1_000_000
OWN = frozenset({"sketch", "documents", "json"})
"""The options of a plan for SimHash."""


def plan(options: PlanOptions) -> int:
    """Show the bands for a threshold and a recall; with documents, advise on them."""
    if options.settings.in_sketch()["sketch"] == "simhash":
        return _plan_simhash(options)
    if options.documents is not None:
        raise SettingError("--documents was given", "--documents with --sketch simhash", "Leave it out")
    _refuse_unusable_image(options.svg)
    if not options.sample:
        return _plan(options)
    advice = _advice(options) if options.svg is None else _draw(options.svg, options)
    typer.echo(notation.dumps(advice.as_dict(), indent=2, ensure_ascii=False) if options.json else str(advice))
    if advice.sample.rejected:
        rows = display.counted(advice.sample.rejected, "row")
        warn(f"{rows} rejected.\nThe first: {display.printable(advice.sample.first_problem)}")
        return REJECTED
    return DONE


def _draw(svg: Path, options: PlanOptions) -> Advice:
    """Return advice, and write it as an image, too."""
    from neardup.io.outputs import OutputImage, common_access

    # opened before the work, so that an unwritable image is reported at once
    with OutputImage(svg, access=common_access(options.sample)) as image:
        advice = _advice(options)
        image.write(advice.svg())
    return advice


def _advice(options: PlanOptions) -> Advice:
    from neardup.corpus.advice import advise_on, checked
    from neardup.deduplication.join.base_documents import open_base
    from neardup.io.inputs import choose_columns, joined_name, open_files

    given = options.settings.read()
    chosen = checked({name: getattr(given, name) for name in (*PLANNED, "slots")})
    documents = open_files(options.sample, reading=chosen.reading)
    columns = choose_columns(documents, options.text, options.id)
    files = [f"./{name}" if name.startswith("-") and name != "-" else name for name in options.sample]
    named = {
        "--text": joined_name(options.text),
        "--id": options.id,
        **{FIELDS[name].option: getattr(given, name) for name in READING},
    }
    usual = ("auto", "all")
    typed = [part for option, name in named.items() if name and name not in usual for part in (option, name)]
    typed += [part for name in options.ignore for part in ("--ignore", name)]
    base = open_base(options.ignore, columns, chosen.reading)
    with watcher() as progress:
        return advise_on(documents, columns, chosen, [*files, *typed], progress, base)


def _refuse_unusable_image(path: Path | None) -> None:
    """Raise OutputError before the work rather than after it, and never overwrite documents."""
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        given = f"{path} cannot be the name of an image"
        raise OutputError(given, "A name that ends in .svg", "Choose such a name")
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {path.parent}", "A folder that exists", "Make it first")


def _plan(options: PlanOptions) -> int:
    """Print the bands alone."""
    from neardup.deduplication.pairs import plan as planned

    _refuse_without_documents(options)
    given = options.settings.read()
    chosen = planned(threshold=given.threshold, recall=given.recall, slots=given.slots)
    if options.svg is not None:
        from neardup.io.outputs import OutputImage

        with OutputImage(options.svg) as image:
            image.write(chosen.svg())
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
                "Only threshold, recall, sketch and svg, since bands do not depend on documents",
                "Name some of your documents, or leave it out",
            )


def _lines(chosen: Plan) -> Iterator[str]:
    planned = chosen.probability(chosen.threshold)
    facts = [
        ("bands", f"{len(chosen.bands)}: {_bands(chosen.bands)}; {chosen.slots} slots, all used"),
        (
            "recall",
            f"{display.similarity(planned, 4)} planned at resemblance {chosen.threshold:g} "
            f"({display.similarity(chosen.recall, 4)} asked for), more above it",
        ),
    ]
    yield from display.aligned_lines(facts)
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


def _plan_simhash(options: PlanOptions) -> int:
    """Print the plan for bits, distance and documents. Raises SettingError for any other option."""
    given = options.settings.read()
    others = [
        option.spelling[-1] if option.spelling else str(option.metavar)
        for option in options_of(PlanOptions)
        if option.name in options.explicit - OWN
    ]
    if others:
        raise SettingError(
            f"{', '.join(others)} cannot be given together with --sketch simhash",
            "With --sketch simhash: --documents and --json",
            "Leave it out, or choose another sketch",
        )
    from neardup.deduplication.pairs import hamming_plan

    documents = DOCUMENTS if options.documents is None else options.documents
    plan = hamming_plan(documents, given.bits, given.distance)
    if options.json:
        typer.echo(notation.dumps(plan.as_dict(), indent=2))
        return 0
    for line in _hamming_lines(plan):
        typer.echo(line)
    return 0


def _hamming_lines(plan: HammingPlan) -> Iterator[str]:
    from neardup.deduplication.pairs import POINTS

    design = plan.design
    looked_at = f"about {_few(design.candidates / design.tables)} fingerprints to compare in each"
    yield from display.aligned_lines(
        [
            ("search", f"all within {plan.distance} of {plan.bits} bits"),
            ("tables", f"{display.number(design.tables)}: {_cut(design)}, prefixes of {_prefixes(design)} bits"),
            ("a query", f"{display.counted(design.tables, 'probe')}, {looked_at}, if the bits are random"),
        ]
    )
    yield ""
    yield f"designs for {display.number(plan.documents)} fingerprints"
    rows = [("tables", "prefix bits", "a probe compares", "a query costs", "blocks")]
    for other in plan.alternatives:
        mark = "  <- least work" if other == design else ""
        looked_at = _few(other.candidates / other.tables)
        cells = (display.number(other.tables), _prefixes(other), looked_at, _few(other.work), _cut(other) + mark)
        rows.append(cells)
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  " + "  ".join(f"{row[column]:>{widths[column]}}" for column in range(4)) + f"  {row[4]}"
    yield ""
    yield f"resemblance   within {plan.distance} of {plan.bits} bits with probability"
    for point in POINTS:
        probability = plan.probability(point)
        yield f"       {point:<6g} {display.similarity(probability, 4)}  {'#' * round(BAR * probability)}".rstrip()
    yield ""
    half = display.similarity(plan.half_found())
    yield f"At resemblance {half} half of the pairs are within the distance, below it fewer."
    yield "This is the resemblance of the features, for two sets of equal size: of shingles, if these are"
    yield "the features. Windows of characters of the same texts have a different one."
    yield ""
    yield f"To search documents so: neardup group IN -o DIR --sketch simhash:{plan.bits},{plan.distance}"


def _cut(design: Design) -> str:
    """Return the cut of the bits in words: 6 blocks, 3 chosen."""
    if not design.levels:
        return "all with all"
    return ", then ".join(
        f"{display.counted(blocks, 'block')}, {chosen} chosen" for blocks, chosen in design.levels
    )


def _prefixes(design: Design) -> str:
    shortest, longest = design.prefixes[0][0], design.prefixes[-1][0]
    return f"{shortest}" if shortest == longest else f"{shortest}-{longest}"


def _few(amount: float) -> str:
    """Return a number of fingerprints, with two digits if it is below 1.

    >>> _few(2.049), _few(0.0012), _few(122070.3), _few(29.8)
    ('2', '0.0012', '122,070', '30')
    """
    return f"{amount:.2g}" if amount < 1 else display.number(round(amount))
