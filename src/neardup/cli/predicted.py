"""The cost of a run, printed before it starts, and the truth beside it at the end."""

from __future__ import annotations

import json as notation
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.engine import Options
from neardup.cli.messages import DONE, warn
from neardup.errors import SettingError
from neardup.settings import Settings

if TYPE_CHECKING:
    from neardup.io.readers.base import Documents
    from neardup.io.readers.columns import Chosen, Reference
    from neardup.run.found import Found
    from neardup.run.predict import RunCost
    from neardup.run.stages.result import Outcome

Opened = tuple["Documents", "Chosen", "Reference | None"]
"""The documents, their columns, and the reference set."""


def opened(options: Options, settings: Settings) -> Opened:
    """Open the inputs of a run."""
    from neardup.io.readers import choose_columns, open_files
    from neardup.run.asked_columns import reference_of

    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    old = open_files(options.against, reading=settings.reading) if options.against else None
    return documents, columns, reference_of(old, columns, options.against_text, options.against_id)


def only_predict(options: Options, settings: Settings) -> int:
    """Print the prediction and stop."""
    made = _prediction(opened(options, settings), options, settings)
    typer.echo(notation.dumps(asdict(made), indent=2) if options.json else made.in_words)
    return DONE


def say_before(inputs: Opened, options: Options, settings: Settings) -> None:
    """Print the prediction on standard error, for a run with a memory limit."""
    if settings.search.limit is not None:
        typer.echo(f"predicted: {_prediction(inputs, options, settings).in_words}", err=True)


def say_after(found: Found, outcome: Outcome) -> None:
    """Print the truth in the words of the prediction."""
    scratch, seconds = outcome.run.rows.corpus.scratch, sum(found.run["seconds"].values())
    if scratch is None:
        return
    memory, working = display.size(found.run["peak_memory_bytes"]), display.size(scratch.most)
    documents = display.number(found.run["counts"]["read"])
    said = f"{documents} documents, {memory} of memory, {working} of working files, {display.duration(seconds)}"
    typer.echo(f"taken: {said}", err=True)


def _prediction(inputs: Opened, options: Options, settings: Settings) -> RunCost:
    from neardup.run.predict import predict

    documents, columns, against = inputs
    made = predict(documents, columns, settings, against, resume=options.resume)
    if made.limit is not None and made.limit < made.process:
        least = -(-made.least // 1_000_000)
        limit, process = display.size(made.limit), display.size(made.process)
        raise SettingError(
            f"--memory {limit} is less than the program itself needs, {process}",
            f"--memory {least}MB or more for these documents",
            f"Give --memory {least}MB, or fewer --threads",
        )
    if made.warning:
        warn(made.warning)
    return made
