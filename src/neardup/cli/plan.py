"""``neardup plan``: bands × rows for a threshold and a recall, and the curve of what they find.

With ``--simhash`` it is ``plan_simhash.py`` that shows tables for a Hamming distance.
"""

from __future__ import annotations

import json as notation
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from neardup import views
from neardup.errors import SettingError

if TYPE_CHECKING:
    from neardup.plan import Plan

BAR = 40
STEPS = 20


def plan(
    json: bool,
    simhash: bool,
    bits: int | None,
    distance: int | None,
    documents: int | None,
    **settings: Any,
) -> int:
    """Show the bands for a threshold and a recall, or with --simhash the tables for a Hamming distance.

    With --simhash no setting of MinHash may be given. The page about SimHash explains what is shown.
    """
    of_simhash = {"bits": bits, "distance": distance, "documents": documents}
    given = {name: value for name, value in of_simhash.items() if value is not None}
    if simhash:
        from neardup.cli.plan_simhash import show

        return show(json, given, settings)
    if given:
        raise SettingError(f"--{next(iter(given))} belongs to --simhash", "", "Give --simhash too")
    from neardup.plan import plan as planned

    chosen = planned(**settings)
    if json:
        typer.echo(notation.dumps(chosen.as_dict(), indent=2))
        return 0
    for line in _lines(chosen):
        typer.echo(line)
    return 0


def _lines(chosen: Plan) -> Iterator[str]:
    found = chosen.probability(chosen.threshold)
    facts = [
        ("bands", f"{len(chosen.bands)}: {_bands(chosen.bands)}; {chosen.slots} slots, all used"),
        (
            "recall",
            f"{views.similarity(found, 4)} planned at resemblance {chosen.threshold:g} "
            f"({views.similarity(chosen.recall, 4)} asked for), more above it",
        ),
    ]
    yield from views.aligned(facts)
    yield ""
    yield "resemblance   becomes a candidate with probability"
    points = {step / STEPS for step in range(2, STEPS + 1)} | {chosen.threshold}
    for similarity in sorted(points):
        probability = chosen.probability(similarity)
        bar = "#" * round(BAR * probability)
        mark = f"{bar:<{BAR}}  <- threshold" if similarity == chosen.threshold else bar
        yield f"       {similarity:<6g} {views.similarity(probability, 4)}  {mark}".rstrip()
    yield ""
    yield "Every candidate is then compared exactly: a low probability below the threshold saves time,"
    yield "and no pair below it is reported."


def _bands(bands: tuple[int, ...]) -> str:
    """Equal bands together: 14 of 7 rows, 5 of 6 rows."""
    counts = Counter(bands).items()
    return ", ".join(f"{count} of {views.counted(rows, 'row')}" for rows, count in counts)
