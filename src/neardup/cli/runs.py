"""Commands that find near copies: ``dedup`` and ``group`` on their engines, ``pairs``, ``demo``."""

from __future__ import annotations

import json as notation
import shlex
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Protocol

import typer

from neardup import display
from neardup.cli import output
from neardup.cli.config import applied_here, given_settings
from neardup.cli.log import count
from neardup.cli.messages import DONE, REJECTED, note, resumable, warn
from neardup.cli.option import options_of, typed_text
from neardup.cli.options.on_files import DedupOptions, FindOptions, GroupOptions, LookOptions, PairsOptions
from neardup.cli.options.on_samples import DemoOptions
from neardup.errors import OutputError, SettingError
from neardup.settings import Settings, memory_size

if TYPE_CHECKING:
    from neardup.deduplication.results import Found
    from neardup.deduplication.reviews import ReviewedResult
    from neardup.deduplication.runs import Action, GroupMember, LargeGroup, Outcome, RunCost
    from neardup.io.inputs import Chosen, Documents, Reference
    from neardup.io.outputs import RunJournal


SHARD_SIZE = memory_size(0.000001, 1_000_000)
"""The sizes of files, in gigabytes."""
GROUPS, MEMBERS = 10, 3
"""Groups that are shown, and members of each."""
_ID = 28
"""Columns of an id."""
_BELOW = 7
"""Lines below the groups, with the one that the shell writes next."""
NEXT = """
What to try next:
  neardup dedup YOUR_FILES -o cleaned --dry-run    see what would be removed; nothing is written
  neardup dedup YOUR_FILES -o cleaned              write the kept documents, with the evidence
  neardup plan --threshold 0.7                     pairs that another threshold would find"""
PROBLEMS = 5
"""Rows that could not be read of which the reasons are printed."""


def dedup(options: DedupOptions) -> int:
    """Remove near copies; write the kept documents, and the evidence."""
    with output.reports_aside(options.out):
        return run_on(_engine(options), "annotate" if options.annotate else "dedup", options)


def group(options: GroupOptions) -> int:
    """Report which documents are near copies; remove none."""
    if options.out == output.STREAM:
        raise OutputError(
            "neardup group removes no rows, and -o - writes kept rows",
            "A folder",
            "Give -o DIR, or use neardup dedup",
        )
    return run_on(_engine(options), "group", options)


ALL_OPTIONS = frozenset(option.name for option in options_of(DedupOptions))
"""The names of the options of ``dedup``; those of ``group`` are among them."""


class Engine(Protocol):
    """A way to run; ``where`` and ``allowed`` complete the error for options that are not ``supported``."""

    where: str
    allowed: str
    supported: frozenset[str]

    def run(self, action: Action, options: FindOptions) -> int:
        """Find, write and print; return the exit status."""


def run_on(engine: Engine, action: Action, options: FindOptions) -> int:
    """Run on an engine. Raises SettingError for options that it does not support."""
    unsupported = options.explicit - engine.supported
    names = [option.spelling[-1] for option in options_of(DedupOptions) if option.name in unsupported]
    if names:
        raise SettingError(f"{', '.join(names)} cannot be given {engine.where}", engine.allowed, "Leave it out")
    return engine.run(action, options)


def _engine(options: FindOptions) -> Engine:
    """Choose the engine of a run. Raises SettingError for the name of another one."""
    engine = options.engine if isinstance(options, DedupOptions) else "local"
    if engine == "spark":
        from neardup.cli.spark_engine import SparkEngine

        return SparkEngine()
    if engine != "local":
        raise SettingError(f"engine is {engine!r}", "local or spark")
    from neardup.deduplication.parts import parts_in

    parts = parts_in(options.against)
    return SavedEngine(parts) if parts else LocalEngine()


class LocalEngine:
    """The engine of this machine, which reads documents."""

    where = "on one machine without fingerprints in --against"
    allowed = "--key and --update with fingerprints in --against, and --master with --engine spark"
    supported = ALL_OPTIONS - {"key", "update", "master"}

    def run(self, action: Action, options: FindOptions) -> int:
        """Read, find, save, and print a summary."""
        settings = _settings(options)
        if options.predict:
            return only_predict(options, settings)
        output.refuse_unusable_out(options)
        return output.print_result(_find_and_save(action, options, settings), options)


class SavedEngine:
    """The engine of this machine for new documents against saved fingerprints, which may grow by them."""

    where = "together with fingerprints in --against"
    allowed = (
        "--key and --update with fingerprints; without them --against-text, --against-id, --ignore, --resume, "
        "--predict and --by"
    )
    supported = ALL_OPTIONS - {"against_text", "against_id", "ignore", "resume", "predict", "by", "master"}

    def __init__(self, parts: list[Path]) -> None:
        self.parts = parts

    def run(self, action: Action, options: FindOptions) -> int:
        """Find, write the result and the new fingerprints, and print a summary."""
        output.refuse_unusable_out(options)
        return output.print_result(self._find(action, options), options)

    def _find(self, action: Action, options: FindOptions) -> Found:
        from neardup.deduplication.parts import (
            fill_against,
            find_against,
            growing_by,
            open_parts,
            read_documents,
            require_columns,
            with_settings,
        )
        from neardup.deduplication.runs import RowFiles, check_before
        from neardup.io.inputs import choose_columns, open_files
        from neardup.io.outputs import common_access, working_in

        against, shared = open_parts(self.parts, key=options.key)
        review = review_of(options)
        settings = with_settings(shared, given_settings(options.settings, options.explicit), reference=True)
        require_columns(against, settings.keep, settings.relations)
        documents = open_files(options.inputs, reading=settings.reading)
        columns = choose_columns(documents, options.text or against.chosen.text, options.id or against.chosen.id)
        with output.watcher() as progress, ExitStack() as stack:
            if options.out is None or options.dry_run:
                new = read_documents(documents, columns, settings, against.secret, progress)
                return find_against(new, columns, settings, against, progress, action, review)[0].found
            others, size = _others(options), _shard_bytes(options)
            check_before(documents, options.out, action, settings.keep, **others, file_size=size)
            # opened before the work, so that an unwritable folder is reported at once
            new = read_documents(documents, columns, settings, against.secret, progress)
            add = (
                stack.enter_context(growing_by(new, columns, settings, against, options.update))
                if isinstance(options, DedupOptions) and options.update
                else None
            )
            given = (new, columns, settings, against)
            with output.open_output(options.out, overwrite=options.overwrite) as folder:
                folder.restrict(common_access((*options.inputs, *self.parts)))
                with working_in(folder.target.parent):
                    outcome, compared = find_against(*given, progress, action, review)
                    rows = RowFiles(size, None, **others)
                    result, names = fill_against(
                        outcome, compared, folder, action, progress, store_texts=options.store_texts, files=rows
                    )
            if add is not None:
                add(names)
            if names.joining:
                counted = display.counted(names.joining, "document")
                note(f"note: {counted} near members of several named groups; names.parquet lists them")
        return result


def _settings(options: FindOptions) -> Settings:
    """Return the checked settings; --by compares within its column, too."""
    settings = options.settings.to_settings()
    if options.by is None:
        return settings
    within = tuple(dict.fromkeys((options.by, *settings.relations.within)))
    return replace(settings, relations=replace(settings.relations, within=within))


def _find_and_save(action: Action, options: FindOptions, settings: Settings) -> Found:
    from neardup.deduplication.join.base_documents import open_base
    from neardup.deduplication.results import require_rows, stream
    from neardup.deduplication.runs import Inputs, RowFiles, by_value, check_before, fill, run, with_values
    from neardup.io.inputs import find_labels
    from neardup.io.outputs import common_access, discard, refuse_table, working_in, write_new_table

    documents, columns, against = open_run(options, settings)
    if options.by is not None:
        find_labels(documents, options.by, "--by")
    ignore = open_base(options.ignore, columns, settings.reading)
    given = Inputs(documents, columns, settings, against, action, ignore, review_of(options))
    if options.out is not None and not options.dry_run:
        size = _shard_bytes(options)
        check_before(documents, options.out, action, settings.keep, **_others(options), file_size=size)
    table = options.write_table if isinstance(options, DedupOptions) else None
    if table is not None:
        refuse_table(table)
        require_rows(documents)
    say_before((documents, columns, against), options, settings)
    with output.watcher() as progress:
        if options.out is None or options.dry_run:
            outcome = _with_config(run(given, progress))
            return (
                outcome.found
                if options.by is None
                else with_values(outcome, by_value(outcome.run, options.by)).found
            )
        # opened before the work, so that an unwritable folder is reported at once
        with output.open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access((*options.inputs, *options.against, *options.ignore)))  # folders, too
            inputs = {"input": documents, "ignore": ignore.documents if ignore else None}
            with _journal(action, options, settings, columns, inputs, against) as journal:
                with working_in(folder.target.parent, journal):
                    outcome = run(given, progress)
                by = None if options.by is None else by_value(outcome.run, options.by)
                files = RowFiles(_shard_bytes(options), by, **_others(options))
                store_texts = options.store_texts
                result = fill(
                    _with_config(outcome), folder, action, progress, store_texts=store_texts, files=files
                )
                if table is not None:
                    write_new_table(table, stream(outcome.found))
        discard(options.out)
    say_after(result, outcome)
    return result


def _others(options: FindOptions) -> dict[str, bool]:
    """Return which rows are written besides those that stay."""
    if not isinstance(options, DedupOptions):
        return {}
    if options.annotate and (options.write_removed or options.revisits):
        raise SettingError(
            "--annotate is given with --write-removed or --revisits",
            "One of them: --annotate removes nothing",
            "Leave one out",
        )
    return {"removed": options.write_removed, "revisits": options.revisits}


def _journal(
    action: Action,
    options: FindOptions,
    settings: Settings,
    columns: Chosen,
    inputs: Mapping[str, Documents | None],
    against: Reference | None,
) -> AbstractContextManager[RunJournal | None]:
    """Open the journal of a run that may go on later; None without --resume."""
    if not options.resume or options.out is None:
        return nullcontext()
    from neardup.deduplication.runs import open_journal

    decisions = options.decisions if isinstance(options, DedupOptions) else None
    return resumable(open_journal(options.out, action, settings, columns, inputs, against, decisions))


def _with_config(outcome: Outcome) -> Outcome:
    """Return a run whose account names the file that options came from."""
    applied = applied_here.get()
    if applied is None:
        return outcome
    from neardup.deduplication.results import with_account

    return replace(outcome, found=with_account(outcome.found, config=applied.account()))


def _shard_bytes(options: FindOptions) -> int:
    """Return the size of files that was asked for; 0 for none."""
    given = options.file_size if isinstance(options, DedupOptions) else None
    if given is None:
        return 0
    size = SHARD_SIZE.value(given)
    if not isinstance(size, float) or not SHARD_SIZE.holds(size) or not size:
        raise SettingError(f"--file-size is {given!r}", SHARD_SIZE.allowed.removesuffix(", or 0"))
    return max(1, round(size * 1e9))


def review_of(options: FindOptions) -> ReviewedResult | None:
    """Return the decisions to follow. Raises OutputError if the output would replace them."""
    from neardup.deduplication.reviews import read_review

    if not isinstance(options, DedupOptions) or options.decisions is None:
        return None
    if options.out is not None and options.out.resolve() == options.decisions.resolve():
        raise OutputError(
            f"{options.out} holds the decisions themselves", "Another folder", "Choose another with -o"
        )
    return read_review(options.decisions)


Opened = tuple["Documents", "Chosen", "Reference | None"]
"""The documents, their columns, and the reference set."""


def open_run(options: FindOptions | PairsOptions, settings: Settings) -> Opened:
    """Open the inputs of a run."""
    from neardup.deduplication.runs import reference_of
    from neardup.io.inputs import choose_columns, open_files

    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    old = open_files(options.against, reading=settings.reading.of_references) if options.against else None
    return documents, columns, reference_of(old, columns, options.against_text, options.against_id)


def only_predict(options: FindOptions, settings: Settings) -> int:
    """Print the prediction and stop."""
    prediction = _prediction(open_run(options, settings), options, settings)
    typer.echo(notation.dumps(asdict(prediction), indent=2) if options.json else prediction.in_words)
    return DONE


def say_before(inputs: Opened, options: FindOptions, settings: Settings) -> None:
    """Print the prediction on standard error, for a run with a memory limit."""
    if settings.search.limit is not None:
        note(f"predicted: {_prediction(inputs, options, settings).in_words}")


def say_after(result: Found, outcome: Outcome) -> None:
    """Print the truth in the words of the prediction."""
    scratch, seconds = outcome.run.rows.corpus.scratch, sum(result.run.seconds.values())
    if scratch is None:
        return
    memory, working = display.size(result.run.peak_memory_bytes), display.size(scratch.most)
    documents = display.number(result.run.counts.read)
    sentence = (
        f"{documents} documents, {memory} of memory, {working} of working files, {display.duration(seconds)}"
    )
    note(f"taken: {sentence}")


def _prediction(inputs: Opened, options: FindOptions, settings: Settings) -> RunCost:
    from neardup.deduplication.runs import predict

    documents, columns, against = inputs
    prediction = predict(documents, columns, settings, against, resume=options.resume)
    if prediction.limit is not None and prediction.limit < prediction.process:
        least = -(-prediction.least // 1_000_000)
        limit, process = display.size(prediction.limit), display.size(prediction.process)
        raise SettingError(
            f"--memory {limit} is less than the program itself needs, {process}",
            f"--memory {least}MB or more for these documents",
            f"Give --memory {least}MB, or fewer --threads",
        )
    if prediction.warning:
        warn(prediction.warning)
    return prediction


def look(options: LookOptions) -> int:
    """Print the ten largest groups of near copies in some documents, and the next command; write nothing."""
    from neardup.deduplication.runs import Inputs, run
    from neardup.io.inputs import choose_columns, open_files

    settings = options.settings.to_settings()
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    with output.watcher() as progress:
        outcome = run(Inputs(documents, columns, settings, action="dedup"), progress)
    counts = outcome.found.run.counts
    if options.json:
        typer.echo(notation.dumps(outcome.found.run.as_dict(), indent=2, ensure_ascii=False))
    elif options.quiet:
        typer.echo(output.line_about(outcome.found.run, "can go"))
    else:
        for line in _group_lines(outcome, output.lines_for_groups(options.verbose, _BELOW)):
            typer.echo(line)
        typer.echo(_next(options, counts.removed))
    return REJECTED if counts.rejected else DONE


def _group_lines(outcome: Outcome, most: int | None) -> Iterator[str]:
    """The largest groups, each with its first members, in about ``most`` lines, and a line about all."""
    from neardup.deduplication.results import classes_of_copies, lost_beside
    from neardup.deduplication.runs import largest_groups

    account, shown, used = outcome.found.run, 0, 0
    for group in largest_groups(outcome, GROUPS, MEMBERS):
        lines = [*_lines_of(group), ""]
        used += len(lines)
        if most is not None and shown and used > most:
            break
        yield from lines
        shown += 1
    if more := account.counts.groups - shown:
        yield f"… and {display.counted(more, 'smaller group')}\n"
    yield output.line_about(account, "can go")
    if account.counts.exact_copies:
        yield f"exact copies: {classes_of_copies(account.counts)}"
    if beside := lost_beside(account.lost):
        yield beside.removeprefix("; ")
    if account.counts.rejected:
        yield f"{display.counted(account.counts.rejected, 'row')} could not be read"


def _lines_of(group: LargeGroup) -> Iterator[str]:
    width = get_terminal_size((output.WIDTH, 24)).columns
    folder, rests = display.without_common(*(display.printable(member.id) for member in group.members))
    names = display.distinct(rests, _ID)
    yield display.counted(group.size, "document") + (f" in {folder}" if folder else "")
    column = max(map(display.columns, names))
    for member, name in zip(group.members, names, strict=True):
        head = f"  {_likeness(member):<6} {name}{' ' * (column - display.columns(name))}  "
        if member.not_compared:
            head += f"[not compared: {', '.join(member.not_compared)}] "
        yield head + display.shorten(member.words, max(20, width - display.columns(head)))
    if group.size > len(group.members):
        yield f"  … and {group.size - len(group.members):,} more"


def _likeness(member: GroupMember) -> str:
    if member.is_representative:
        return "kept"
    if member.is_copy:
        return "copy"
    return "" if member.similarity is None else display.similarity(member.similarity)


def _next(options: LookOptions, removed: int) -> str:
    """The command to type next."""
    inputs = " ".join(map(shlex.quote, options.inputs))
    if not removed:
        return f"\nNext, if near copies are missing: neardup plan {inputs}"
    stem = Path(options.inputs[0].rstrip("/\\")).name.partition(".")[0].strip("-*?[]") or "documents"
    out, number = f"{stem}-dedup", 1
    while Path(out).exists():
        number += 1
        out = f"{stem}-dedup-{number}"
    from neardup.io.inputs import joined_name

    given = {"text": joined_name(options.text), "id": options.id}
    typed = "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items() if value)
    return f"\nNext: neardup dedup {inputs}{typed} -o {shlex.quote(out)}"


def demo(options: DemoOptions) -> int:
    """Find the near copies in a small sample, and show the evidence."""
    from neardup.cli.demo_documents import documents_path
    from neardup.deduplication.runs import find

    with output.watcher() as progress:
        result = find(documents_path(), text="text", id="id", progress=progress)
    if options.json:
        typer.echo(notation.dumps(result.run.as_dict(), indent=2, ensure_ascii=False))
        return 0
    output.show_groups(result.first_groups(limit=None), result.run.counts.groups, dry=True)
    output.show_summary(result.run, dry=True)
    typer.echo(NEXT)
    return 0


def pairs(options: PairsOptions) -> int:
    """List the most similar pairs, without a threshold: exactly, and complete with ties."""
    from neardup.cli.results import form_of
    from neardup.deduplication.join.base_documents import open_base
    from neardup.deduplication.runs import Inputs, lines_of, top_of, wanted_of
    from neardup.io.outputs import OutputExport, as_bytes_of, common_access

    settings = options.settings.to_settings()
    wanted = wanted_of(options.top, options.threshold, nearest=bool(options.against))
    if options.out == output.STREAM:
        raise OutputError("-o is -", "The name of a file", "Use --json for standard output")
    form = "" if options.out is None else form_of(options.out)
    documents, columns, against = open_run(options, settings)
    inputs = Inputs(
        documents, columns, settings, against, ignore=open_base(options.ignore, columns, settings.reading)
    )
    with ExitStack() as stack:
        progress = stack.enter_context(output.watcher())
        if options.out is not None:  # opened before the work, so that an unwritable file is reported at once
            access = common_access((*options.inputs, *options.against, *options.ignore))
            file = stack.enter_context(OutputExport(options.out, overwrite=options.overwrite, access=access))
        result = top_of(inputs, wanted, progress)
        count({"documents": result.documents, "pairs": len(result), "rejected": len(result.problems)})
        if options.out is not None:
            for piece in as_bytes_of(result.pairs, form, ("id_a", "id_b")):
                file.write_bytes(piece)
    if options.json:
        typer.echo(notation.dumps(result.as_dict(), indent=2, ensure_ascii=False))
    else:
        for line in (*result.notes, *lines_of(result)):
            typer.echo(display.printable(line))
        if options.out is not None:
            typer.echo(f"written: {display.printable(typed_text(options.out))}")
    if result.problems:
        warn(f"{display.counted(len(result.problems), 'row')} could not be read; --json lists all. The first:")
    for problem in islice(result.problems, PROBLEMS):
        row = "" if problem.row is None else f" row {problem.row}"
        warn(display.printable(f"{problem.source}{row}: {problem.reason}"))
    return REJECTED if result.problems else DONE
