"""``neardup dedup`` and ``neardup group``: read, find, save, and print a summary."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from neardup import display
from neardup.cli import target
from neardup.cli.configured import applied_here
from neardup.cli.messages import DONE, REJECTED, told_if_stopped, warn
from neardup.cli.option import options_of
from neardup.cli.options.on_files import DedupOptions, GroupOptions
from neardup.cli.options.on_shards import MergeOptions
from neardup.cli.parts import dedup_part, find_with_saved, saved_parts
from neardup.cli.predicted import only_predict, opened, say_after, say_before
from neardup.cli.shown import show_by, show_groups, show_summary, watcher
from neardup.errors import InputError, OutputError, SettingError
from neardup.settings import Settings
from neardup.settings.rules import memory_size

if TYPE_CHECKING:
    from neardup.io.readers.base import Documents
    from neardup.io.readers.columns import Chosen, Reference
    from neardup.io.writers.journal import RunJournal
    from neardup.run.decided import ReviewedResult
    from neardup.run.find import Outcome
    from neardup.run.found import Found

Action: TypeAlias = Literal["dedup", "group", "annotate"]
Options: TypeAlias = DedupOptions | GroupOptions
Writing: TypeAlias = Options | MergeOptions

SHARD_SIZE = memory_size(0.000001, 1_000_000)
"""The sizes of files, in gigabytes."""

_WITH_STORED = frozenset({"stored", "out", "threshold", "dry_run", "json", "overwrite"})
_WITH_MERGED = frozenset({"inputs", "merged", "out", "dry_run", "json", "overwrite"})
_WITH_REVIEWED = frozenset({"stored", "out", "moved", "dry_run", "json", "overwrite"})


def dedup(options: DedupOptions) -> int:
    """Remove near copies; write the documents that stay, and the evidence."""
    with target.reports_aside(options.out):
        return _dedup(options)


def _dedup(options: DedupOptions) -> int:
    if options.merged is not None:
        allowed = "-o, --dry-run, --json and"
        _refuse_options_besides(options.explicit, DedupOptions, _WITH_MERGED, allowed, "--merged")
        refuse_unusable_out(options)
        return dedup_part(options, options.merged)
    if options.engine == "spark":
        from neardup.cli.on_spark import dedup_on_spark

        return dedup_on_spark(options)
    if options.engine != "local" or options.master is not None:
        given = f"engine is {options.engine!r}" + (" and --master is given" if options.master else "")
        raise SettingError(given, "local; or spark, which --master goes with")
    if options.stored is None:
        if not options.inputs:
            raise InputError("No input was given", "Files, folders or patterns; or --from with a reviewed result")
        action: Action = "annotate" if options.annotate else "dedup"
        parts = saved_parts(options)
        if not parts:
            return _run(action, options)
        refuse_unusable_out(options)
        return tell(find_with_saved(action, options, parts, _review(options)), options)
    _refuse_options_besides(options.explicit, DedupOptions, _WITH_REVIEWED, "-o, --inputs, --dry-run, --json and")
    refuse_unusable_out(options)
    return tell(_final(options.stored, options), options)


def group(options: GroupOptions) -> int:
    """Report which documents are near copies; remove none."""
    if options.out == target.STREAM:
        raise OutputError(
            "neardup group removes no rows, and -o - writes kept rows",
            "A folder",
            "Give -o DIR, or use neardup dedup",
        )
    if options.stored is None:
        parts = saved_parts(options)
        if not parts:
            return _run("group", options)
        refuse_unusable_out(options)
        return tell(find_with_saved("group", options, parts), options)
    allowed = "-o, --threshold, --dry-run, --json and"
    _refuse_options_besides(options.explicit, GroupOptions, _WITH_STORED, allowed)
    if "threshold" not in options.explicit:
        raise SettingError(
            "--from was given without a threshold",
            "A threshold above that of the stored result",
            "Give --threshold NUMBER",
        )
    refuse_unusable_out(options)
    return tell(_regroup_and_save(options.stored, options), options)


def _run(action: Action, options: Options) -> int:
    settings = _settings(options)
    if options.predict:
        return only_predict(options, settings)
    refuse_unusable_out(options)
    return tell(_find_and_save(action, options, settings), options)


def _settings(options: Options) -> Settings:
    """Return the checked settings; --by compares within its column, too."""
    settings = options.settings.checked()
    if options.by is None:
        return settings
    within = tuple(dict.fromkeys((options.by, *settings.relations.within)))
    return replace(settings, relations=replace(settings.relations, within=within))


def tell(found: Found, options: Writing) -> int:
    """Print the result, and return the exit status."""
    if options.json:
        typer.echo(notation.dumps({**found.run, **_files(options)}, indent=2, ensure_ascii=False))
    else:
        _show(found, options)
    return REJECTED if found.problems else DONE


def refuse_unusable_out(options: Writing) -> None:
    """Raise OutputError before the work rather than after it."""
    target.refuse_unusable_out(options.out, options.explicit, dry_run=options.dry_run, overwrite=options.overwrite)


def _find_and_save(action: Action, options: Options, settings: Settings) -> Found:
    from neardup.io.labels import find_labels
    from neardup.io.writers import common_access
    from neardup.io.writers.journal import discard
    from neardup.io.writers.scratch import working_in
    from neardup.join.base_documents import open_base
    from neardup.run.by_value import by_value, with_values
    from neardup.run.find import run
    from neardup.run.save import check_before, fill

    documents, columns, against = opened(options, settings)
    if options.by is not None:
        find_labels(documents, options.by, "--by")
    ignore = open_base(options.ignore, columns, settings)
    review = _review(options)
    if options.out is not None and not options.dry_run:
        check_before(documents, options.out, action, settings)
    say_before((documents, columns, against), options, settings)
    with watcher() as progress:
        if options.out is None or options.dry_run:
            outcome = run(documents, columns, settings, against, progress, action, ignore=ignore, review=review)
            outcome = _with_config(outcome)
            return (
                outcome.found
                if options.by is None
                else with_values(outcome, by_value(outcome.run, options.by)).found
            )
        # opened before the work, so that an unwritable folder is reported at once
        with target.open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access((*options.inputs, *options.against, *options.ignore)))  # folders, too
            inputs = {"input": documents, "ignore": ignore.documents if ignore else None}
            with _journal(action, options, settings, columns, inputs, against) as journal:
                with working_in(folder.target.parent, journal):
                    asked = (documents, columns, settings, against, progress, action)
                    outcome = run(*asked, ignore=ignore, review=review)
                by = None if options.by is None else by_value(outcome.run, options.by)
                how: Any = {"store_texts": options.store_texts, "shard_size": _shard_bytes(options), "by": by}
                found = fill(_with_config(outcome), folder, action, progress, **how)
        discard(options.out)
    say_after(found, outcome)
    return found


@contextmanager
def _journal(
    action: Action,
    options: Options,
    settings: Settings,
    columns: Chosen,
    inputs: Mapping[str, Documents | None],
    against: Reference | None,
) -> Iterator[RunJournal | None]:
    """Open the journal of a run that may go on later; None without --resume."""
    if not options.resume or options.out is None:
        yield None
        return
    from neardup.run.resuming import open_journal

    decisions = options.decisions if isinstance(options, DedupOptions) else None
    journal = open_journal(options.out, action, settings, columns, inputs, against, decisions)
    if len(journal):
        typer.echo(f"going on with {display.counted(len(journal), 'finished part')} of an earlier run", err=True)
    try:
        with told_if_stopped(lambda: _unfinished(len(journal))):
            yield journal
    finally:
        journal.close()


def _unfinished(parts: int) -> str:
    return f"no result was written; {display.counted(parts, 'finished part')} kept, with which the command goes on"


def _with_config(outcome: Outcome) -> Outcome:
    """Return a run whose account names the file that options came from."""
    applied = applied_here.get()
    if applied is None:
        return outcome
    run = {**outcome.found.run, "config": applied.account()}
    return replace(outcome, found=replace(outcome.found, run=run))


def _shard_bytes(options: Options) -> int:
    """Return the size of files that was asked for; 0 for none."""
    given = options.shard_size if isinstance(options, DedupOptions) else None
    if given is None:
        return 0
    size = SHARD_SIZE.value(given)
    if not isinstance(size, float) or not SHARD_SIZE.holds(size) or not size:
        raise SettingError(f"--shard-size is {given!r}", SHARD_SIZE.allowed.removesuffix(", or 0"))
    return max(1, round(size * 1e9))


def _review(options: Options) -> ReviewedResult | None:
    """Return the decisions to follow. Raises OutputError if the output would replace them."""
    from neardup.run.reviewed import reviewed

    if not isinstance(options, DedupOptions) or options.decisions is None:
        return None
    if options.out is not None and options.out.resolve() == options.decisions.resolve():
        raise OutputError(
            f"{options.out} holds the decisions themselves", "Another folder", "Choose another with -o"
        )
    return reviewed(options.decisions)


def _refuse_options_besides(
    explicit: frozenset[str], record: type, allowed: frozenset[str], named: str, option: str = "--from"
) -> None:
    """Raise SettingError for options that are not ``allowed`` with ``option``; ``named`` are for the message."""
    known = options_of(record)
    spelling = {option.name: option.spelling[-1] if option.spelling else "IN" for option in known}
    others = [spelled for name, spelled in spelling.items() if name in explicit - allowed]
    if others:
        raise SettingError(
            f"{', '.join(others)} cannot be given together with {option}",
            f"With {option} only {named} --overwrite",
            f"Leave it out, or leave out {option} and read the documents again",
        )


def _final(stored: Path, options: DedupOptions) -> Found:
    from neardup.io.writers import common_access
    from neardup.run.final import fill_final, final_result
    from neardup.run.found import load
    from neardup.run.reviewed import review_in

    if options.out is None or options.dry_run:
        found = load(stored, inputs=options.moved)
        return final_result(found, review_in(found.ranks, stored))[0]
    _refuse_same_folder(options.out, stored)
    with watcher() as progress, target.open_output(options.out, overwrite=options.overwrite) as folder:
        folder.restrict(common_access(options.moved))
        found = load(stored, inputs=options.moved)
        return fill_final(found, review_in(found.ranks, stored), folder, progress)


def _refuse_same_folder(out: Path, stored: Path) -> None:
    if out.resolve() == stored.resolve():
        raise OutputError(
            f"{out} is the result that --from names",
            "Another folder, since a result cannot replace its source",
            "Choose another folder with -o",
        )


def _regroup_and_save(stored: Path, options: GroupOptions) -> Found:
    from neardup.io.writers import OutputFolder
    from neardup.run.found import load, write_result
    from neardup.tables import DECISIONS_FILE

    threshold = options.settings.threshold
    if (stored / DECISIONS_FILE).exists():
        warn(f"the decisions in {display.printable(stored)} are not followed; neardup dedup --decisions does that")
    if options.out is None or options.dry_run:
        return load(stored).at(threshold)
    _refuse_same_folder(options.out, stored)
    with OutputFolder(options.out, overwrite=options.overwrite) as folder:
        found = load(stored).at(threshold)
        write_result(found, folder)
    return found


def _files(options: Writing) -> dict[str, Any]:
    """Return the output folder and its files; none after a dry run."""
    if options.out is None or options.dry_run:
        return {"out": None, "files": []}
    if options.out == target.STREAM:
        return {"out": "-", "files": []}
    return {"out": str(options.out), "files": sorted(path.name for path in options.out.iterdir())}


def _show(found: Found, options: Writing) -> None:
    run, files = found.run, _files(options)
    if options.dry_run:
        show_groups(found.first_groups(), run["counts"]["groups"])
    show_by(run)
    show_summary(run, ("written", _written(found, files)))
    if found.problems:  # of the reference set, too
        them = "it" if len(found.problems) == 1 else "them"
        warn(
            _rejected(
                found, "" if files["out"] in (None, "-") else f"; problems.jsonl in {options.out} lists {them}"
            )
        )


def _written(found: Found, files: Mapping[str, Any]) -> str:
    """Say where the result is."""
    if files["out"] is None:
        return "nothing (dry run)"
    if files["out"] == "-":
        return f"{display.counted(found.run['counts']['kept'], 'row')} to standard output"
    kept = found.run.get("kept_files") or {}
    names = (
        f"kept ({display.counted(kept['files'], 'file')})" if name == "kept" and "files" in kept else name
        for name in files["files"]
    )
    return f"{files['out']}: {', '.join(names)}"


def _rejected(found: Found, where: str) -> str:
    first = found.problems[0]
    row = "" if first.row is None else f" row {first.row}"
    return (
        f"{display.counted(len(found.problems), 'row')} rejected{where}.\n"
        f"The first: {display.printable(first.source)}{row}: {display.printable(first.reason)}"
    )
