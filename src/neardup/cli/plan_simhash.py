"""``neardup plan --simhash``: tables for a Hamming distance, the cost of a query, and the pairs it finds."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.option import options_of
from neardup.cli.options.on_files import PlanOptions
from neardup.errors import SettingError
from neardup.settings import FIELDS

if TYPE_CHECKING:
    from neardup.lsh.hamming_tables import Design, HammingPlan

BAR = 40
DOCUMENTS = 1_000_000

OWN = frozenset({"simhash", "bits", "distance", "documents", "json", "threshold", "recall", "slots"})
"""The options that are allowed, or refused by the first check."""


def show(options: PlanOptions) -> int:
    """Print the plan for bits, distance and documents. Raises SettingError if a setting of MinHash is given."""
    for name in ("threshold", "recall", "slots"):
        if getattr(options.settings, name) != FIELDS[name].default:
            raise SettingError(f"--{name} belongs to MinHash", "With --simhash: --bits, --distance, --documents")
    others = [option.spelling[-1] for option in options_of(PlanOptions) if option.name in options.explicit - OWN]
    if others:
        raise SettingError(
            f"{', '.join(others)} cannot be given together with --simhash",
            "With --simhash: --bits, --distance, --documents and --json",
            "Leave it out, or leave out --simhash and name a SAMPLE",
        )
    from neardup.lsh.hamming_tables import hamming_plan

    plan = hamming_plan(
        DOCUMENTS if options.documents is None else options.documents,
        FIELDS["bits"].default if options.bits is None else options.bits,
        FIELDS["distance"].default if options.distance is None else options.distance,
    )
    if options.json:
        typer.echo(notation.dumps(plan.as_dict(), indent=2))
        return 0
    for line in _lines(plan):
        typer.echo(line)
    return 0


def _lines(plan: HammingPlan) -> Iterator[str]:
    design = plan.design
    looked_at = f"about {_few(design.candidates / design.tables)} fingerprints to compare in each"
    yield from display.aligned(
        [
            ("search", f"all within {plan.distance} of {plan.bits} bits; none is missed"),
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
    from neardup.lsh.hamming_tables import POINTS

    for point in POINTS:
        probability = plan.probability(point)
        yield f"       {point:<6g} {display.similarity(probability, 4)}  {'#' * round(BAR * probability)}".rstrip()
    yield ""
    half = display.similarity(plan.half_found())
    yield f"At resemblance {half} half of the pairs are within the distance, below it fewer."
    yield "This is the resemblance of the features, for two sets of equal size: of shingles, if these are"
    yield "the features. Windows of characters of the same texts have a different one."
    yield ""
    yield f"To search documents so: neardup group IN -o DIR --sketch simhash{_options(plan)}"


def _options(plan: HammingPlan) -> str:
    """Return the options for a run with this plan."""
    bits = "" if plan.bits == FIELDS["bits"].default else f" --bits {plan.bits}"
    return f"{bits} --distance {plan.distance}"


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
