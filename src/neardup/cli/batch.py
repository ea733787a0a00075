"""``neardup dedup`` and ``neardup group``: read, find, save, and print a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli import target
from neardup.cli.configured import applied_here
from neardup.cli.engine import ALL_OPTIONS, Engine, Options, review_of, run_on
from neardup.cli.messages import told_if_stopped
from neardup.cli.options.on_files import DedupOptions, GroupOptions
from neardup.cli.predicted import only_predict, opened, say_after, say_before
from neardup.cli.shards import SavedEngine
from neardup.cli.shown import print_result, watcher
from neardup.errors import OutputError, SettingError
from neardup.settings import Settings
from neardup.settings.rules import memory_size

if TYPE_CHECKING:
    from neardup.io.readers.base import Documents
    from neardup.io.readers.columns import Chosen, Reference
    from neardup.io.writers.scratch import RunJournal
    from neardup.run.found import Found
    from neardup.run.stages.records import Action
    from neardup.run.stages.result import Outcome

SHARD_SIZE = memory_size(0.000001, 1_000_000)
"""The sizes of files, in gigabytes."""


def dedup(options: DedupOptions) -> int:
    """Remove near copies; write the documents that stay, and the evidence."""
    with target.reports_aside(options.out):
        return run_on(_engine(options), "annotate" if options.annotate else "dedup", options)


def group(options: GroupOptions) -> int:
    """Report which documents are near copies; remove none."""
    if options.out == target.STREAM:
        raise OutputError(
            "neardup group removes no rows, and -o - writes kept rows",
            "A folder",
            "Give -o DIR, or use neardup dedup",
        )
    return run_on(_engine(options), "group", options)


def _engine(options: Options) -> Engine:
    """Choose the engine of a run. Raises SettingError for the name of another one."""
    engine = options.engine if isinstance(options, DedupOptions) else "local"
    if engine == "spark":
        from neardup.cli.on_spark import SparkEngine

        return SparkEngine()
    if engine != "local":
        raise SettingError(f"engine is {engine!r}", "local or spark")
    from neardup.run.shards.merge import parts_in

    parts = parts_in(options.against)
    return SavedEngine(parts) if parts else LocalEngine()


class LocalEngine:
    """The engine of this machine, which reads documents."""

    where = "on one machine without fingerprints in --against"
    allowed = "--key and --update with fingerprints in --against, and --master with --engine spark"
    supported = ALL_OPTIONS - {"key", "update", "master"}

    def run(self, action: Action, options: Options) -> int:
        """Read, find, save, and print a summary."""
        settings = _settings(options)
        if options.predict:
            return only_predict(options, settings)
        target.refuse_unusable_out(options)
        return print_result(_find_and_save(action, options, settings), options)


def _settings(options: Options) -> Settings:
    """Return the checked settings; --by compares within its column, too."""
    settings = options.settings.checked()
    if options.by is None:
        return settings
    within = tuple(dict.fromkeys((options.by, *settings.relations.within)))
    return replace(settings, relations=replace(settings.relations, within=within))


def _find_and_save(action: Action, options: Options, settings: Settings) -> Found:
    from neardup.io.readers.columns import find_labels
    from neardup.io.writers import common_access
    from neardup.io.writers.scratch import discard, working_in
    from neardup.join.base_documents import open_base
    from neardup.run.by_value import by_value, with_values
    from neardup.run.find import run
    from neardup.run.save import check_before, fill
    from neardup.run.stages.records import Inputs

    documents, columns, against = opened(options, settings)
    if options.by is not None:
        find_labels(documents, options.by, "--by")
    ignore = open_base(options.ignore, columns, settings.reading)
    asked = Inputs(documents, columns, settings, against, action, ignore, review_of(options))
    if options.out is not None and not options.dry_run:
        check_before(documents, options.out, action, settings)
    say_before((documents, columns, against), options, settings)
    with watcher() as progress:
        if options.out is None or options.dry_run:
            outcome = _with_config(run(asked, progress))
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
                    outcome = run(asked, progress)
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
    from neardup.run.journal import open_journal

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
