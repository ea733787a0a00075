"""``neardup dedup`` and ``neardup group``: read, find, save, and print a summary."""

from __future__ import annotations

import json as notation
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from neardup import display
from neardup.cli.messages import DONE, REJECTED, warn
from neardup.cli.options import COMMANDS
from neardup.cli.shown import show_groups, show_summary, watcher
from neardup.errors import OutputError, SettingError
from neardup.settings import Settings

if TYPE_CHECKING:
    from neardup.run.found import Found

Action: TypeAlias = Literal["dedup", "group", "annotate"]

_WITH_STORED = frozenset({"stored", "out", "threshold", "dry_run", "json", "overwrite"})


@dataclass(frozen=True)
class Order:
    """The typed arguments other than the settings."""

    inputs: list[str]
    out: Path | None
    text: str | None
    id: str | None
    against: list[str]
    dry_run: bool
    json: bool
    overwrite: bool


def dedup(annotate: bool, **typed: Any) -> int:
    """Remove near copies; write the documents that stay, and the evidence.

    At least one document of each group stays. Exit status: 0 done; 1 done, but some input was
    rejected (problems.jsonl lists it); 2 error.
    """
    return _order("annotate" if annotate else "dedup", typed)


def group(stored: Path | None, explicit: frozenset[str], **typed: Any) -> int:
    """Report which documents are near copies; remove none.

    With --from the documents are not read again: the pairs of an earlier result are grouped at a
    stricter threshold, and all other settings stay the same.

    Exit status: 0 done; 1 done, but some input was rejected (problems.jsonl lists it); 2 error.
    """
    if stored is None:
        return _order("group", typed)
    _refuse_other_options(explicit)
    order = Order(**{name: typed[name] for name in Order.__dataclass_fields__})
    _refuse_unusable_out(order)
    return _tell(_regroup_and_save(stored, typed["threshold"], order), order)


def _order(action: Action, typed: dict[str, Any]) -> int:
    order = Order(**{name: typed.pop(name) for name in Order.__dataclass_fields__})
    settings = Settings.of(**typed)
    order = replace(order, against=list(order.against))
    _refuse_unusable_out(order)
    return _tell(_find_and_save(action, order, settings), order)


def _tell(found: Found, order: Order) -> int:
    if order.json:
        typer.echo(notation.dumps({**found.run, **_files(order)}, indent=2, ensure_ascii=False))
    else:
        _show(found, order)
    return REJECTED if found.run["counts"]["rejected"] else DONE


def _refuse_unusable_out(order: Order) -> None:
    """Raise OutputError before the work rather than after it."""
    if order.dry_run:
        return
    if order.out is None:
        raise OutputError("No folder for the results was given", "", "Give -o DIR, or --dry-run to write nothing")
    if order.out.exists() and not order.overwrite:
        raise OutputError(
            f"{order.out} exists already",
            "A folder that does not exist yet",
            "Choose another one, or give --overwrite to replace it",
        )


def _find_and_save(action: Action, order: Order, settings: Settings) -> Found:
    from neardup.io.readers import choose_columns, open_files
    from neardup.io.writers import OutputFolder, common_access
    from neardup.run.find import run
    from neardup.run.save import check_before, fill

    documents = open_files(order.inputs, reading=settings.reading)
    columns = choose_columns(documents, order.text, order.id)
    against = open_files(order.against, reading=settings.reading) if order.against else None
    if order.out is not None and not order.dry_run:
        check_before(documents, order.out, action)
    with watcher() as progress:
        if order.out is None or order.dry_run:
            return run(documents, columns, settings, against, progress, action).found
        # opened before the work, so that an unwritable folder is reported at once
        with OutputFolder(order.out, overwrite=order.overwrite) as folder:
            folder.restrict(common_access((*order.inputs, *order.against)))  # folders, too
            outcome = run(documents, columns, settings, against, progress, action)
            found = fill(outcome, folder, action, progress)
    return found


def _refuse_other_options(explicit: frozenset[str]) -> None:
    """Raise SettingError for options other than the threshold, which a stored result cannot change."""
    spelling = {option.name: option.spelling[-1] if option.spelling else "IN" for option in COMMANDS["group"]}
    others = [spelled for name, spelled in spelling.items() if name in explicit - _WITH_STORED]
    if others:
        raise SettingError(
            f"{', '.join(others)} cannot be given together with --from",
            "With --from only -o, --threshold, --dry-run, --json and --overwrite",
            "Leave it out, or leave out --from and read the documents again",
        )
    if "threshold" not in explicit:
        raise SettingError(
            "--from was given without a threshold",
            "A threshold above that of the stored result",
            "Give --threshold NUMBER",
        )


def _regroup_and_save(stored: Path, threshold: float, order: Order) -> Found:
    from neardup.io.writers import OutputFolder
    from neardup.run.found import load, write_result

    if order.out is None or order.dry_run:
        return load(stored).at(threshold)
    if order.out.resolve() == stored.resolve():
        raise OutputError(
            f"{order.out} is the result that --from names",
            "Another folder, since a result cannot replace its source",
            "Choose another folder with -o",
        )
    with OutputFolder(order.out, overwrite=order.overwrite) as folder:
        found = load(stored).at(threshold)
        write_result(found, folder)
    return found


def _files(order: Order) -> dict[str, Any]:
    """Return the output folder and its files; none after a dry run."""
    if order.out is None or order.dry_run:
        return {"out": None, "files": []}
    return {"out": str(order.out), "files": sorted(path.name for path in order.out.iterdir())}


def _show(found: Found, order: Order) -> None:
    run, files = found.run, _files(order)
    if order.dry_run:
        show_groups(found.first_groups(), run["counts"]["groups"])
    written = "nothing (dry run)" if order.dry_run else f"{files['out']}: {', '.join(files['files'])}"
    show_summary(run, ("written", written))
    if run["counts"]["rejected"]:
        warn(_rejected(found, "" if order.dry_run else f"; problems.jsonl in {order.out} lists them"))


def _rejected(found: Found, where: str) -> str:
    first = found.problems[0]
    row = "" if first.row is None else f" row {first.row}"
    return (
        f"{display.counted(found.run['counts']['rejected'], 'row')} rejected{where}.\n"
        f"The first: {display.printable(first.source)}{row}: {display.printable(first.reason)}"
    )
