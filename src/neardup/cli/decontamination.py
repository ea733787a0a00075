"""``neardup decontaminate``: training documents without those that contain test items."""

import json as notation
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import typer

from neardup import display
from neardup.cli.log import count
from neardup.cli.messages import DONE, REJECTED, resumable, warn
from neardup.cli.option import typed_text
from neardup.cli.options.on_files import DecontaminateOptions
from neardup.cli.output import STREAM, WIDTH, open_output, refuse_unusable_out, reports_aside, watcher
from neardup.corpus.decontamination import (
    Action,
    Contamination,
    ItemSearch,
    MatchRules,
    lines_of,
    read_items,
    require_action,
    rules_of,
    scan_training,
    stored_scan,
    weigh_candidates,
    write,
)
from neardup.deduplication.runs import Meter, open_journal
from neardup.errors import OutputError, SettingError
from neardup.io.inputs import Chosen, Documents, choose_columns, open_files, parts_of
from neardup.io.outputs import RunJournal, common_access, discard, working_in
from neardup.settings import Settings


def decontaminate(options: DecontaminateOptions) -> int:
    """Remove the training documents that contain test items; write the evidence."""
    if options.engine == "spark":
        from neardup.cli import spark_engine

        return spark_engine.decontaminate(options, _action(options))
    if options.engine != "local":
        raise SettingError(f"engine is {options.engine!r}", "local or spark")
    if options.master is not None:
        raise SettingError("--master was given without --engine spark", "Both", "Leave it out")
    with reports_aside(options.out):
        return _decontaminate(options)


def _decontaminate(options: DecontaminateOptions) -> int:
    action = _action(options)
    refuse_unusable_out(options)
    settings = options.settings.to_settings()
    rules = rules_of(options.threshold, options.run, options.common)
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text or None, options.id)
    require_action(action, documents, columns)
    with watcher() as progress:
        meter = Meter(progress)
        if options.out is None or options.dry_run:
            result = _result(options, documents, columns, rules, settings, meter)
            return _show(result, options, result.as_dict())
        with open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(_access(options))
            with (
                _journal(options, documents, columns, settings) as journal,
                working_in(folder.target.parent, journal),
            ):
                result = _result(options, documents, columns, rules, settings, meter)
                account = write(result, folder, action, meter, options.marker)
        discard(options.out)
    return _show(result, options, account)


def _action(options: DecontaminateOptions) -> Action:
    """Return the output. Raises SettingError for two different outputs, OutputError for none on a stream."""
    given: dict[Action, bool] = {
        "drop": options.drop,
        "tag": options.tag,
        "cut": options.cut,
        "report": options.report_only,
    }
    chosen = [action for action, is_given in given.items() if is_given]
    if len(chosen) > 1:
        raise SettingError(
            "Several outputs were asked for",
            "One of --drop, --tag, --cut and --report-only",
            "Leave out the others",
        )
    if "marker" in options.explicit and not options.cut:
        raise SettingError("--marker was given without --cut", "--cut with --marker", "Add --cut, or leave it out")
    if options.scanned and options.resume:
        raise SettingError("--resume and --scanned were given", "One of them", "Nothing is scanned with --scanned")
    if options.report_only and options.out == STREAM:
        raise OutputError("--report-only writes no rows, and -o - nothing else", "A folder", "Give -o DIR")
    return chosen[0] if chosen else "drop"


def _result(
    options: DecontaminateOptions,
    documents: Documents,
    columns: Chosen,
    rules: MatchRules,
    settings: Settings,
    meter: Meter,
) -> Contamination:
    items = read_items(options.against, _fields(options), options.against_id, settings, meter)
    search = ItemSearch.of(items, settings, rules)
    if options.scanned:
        scan = stored_scan([Path(folder) for folder in options.scanned], search)
    else:
        scan = scan_training(documents, columns, search, meter)
    return weigh_candidates(scan, documents, columns, meter)


def _fields(options: DecontaminateOptions) -> list[str]:
    return [part for given in options.fields for part in parts_of(given)]


def _access(options: DecontaminateOptions) -> int:
    return common_access((*options.inputs, *options.against, *options.scanned))


def _journal(
    options: DecontaminateOptions, documents: Documents, columns: Chosen, settings: Settings
) -> AbstractContextManager[RunJournal | None]:
    """Open the journal of a scan that may go on later; None without --resume."""
    if not options.resume or options.out is None or options.out == STREAM:
        return nullcontext()
    command = (
        f"decontaminate --threshold {options.threshold} --fields {','.join(_fields(options))} "
        f"--against-id {options.against_id}"
    )
    inputs = {"input": documents}
    for number, name in enumerate(options.against):
        inputs[f"test set {number + 1}"] = open_files([name], reading=settings.reading.of_references)
    return resumable(open_journal(options.out, command, settings, columns, inputs, None, None))


def _show(result: Contamination, options: DecontaminateOptions, account: dict[str, Any]) -> int:
    count(account["counts"])
    if options.json:
        typer.echo(notation.dumps(account, indent=2, ensure_ascii=False))
    else:
        typer.echo(_outcome(account, options))
        if not options.quiet:
            for note in result.notes:
                typer.echo(display.printable(note))
            width = get_terminal_size().columns if sys.stdout.isatty() else WIDTH
            for line in lines_of(result, width=width):
                typer.echo(line)
        typer.echo(f"written: {_outputs_in_words(options)}")
    if result.problems:
        written = not options.dry_run and options.out != STREAM
        where = (
            f"{typed_text(options.out)}/problems.jsonl says where and why"
            if written
            else "run with -o DIR to list them"
        )
        warn(f"{display.counted(len(result.problems), 'row')} could not be read: {display.printable(where)}")
    return REJECTED if result.problems else DONE


def _outcome(account: dict[str, Any], options: DecontaminateOptions) -> str:
    """The number of training documents that go or change, and of the items that they contain."""
    without_output = options.dry_run or options.out is None
    done = {"drop": "to remove" if without_output else "removed", "tag": "tagged", "cut": "cut", "report": "found"}
    counts, sets = account["counts"], account["test_sets"]
    found, items = sum(row["found"] for row in sets), sum(row["items"] for row in sets)
    return (
        f"{done[_action(options)]}: {display.number(counts['contaminated'])} of "
        f"{display.counted(counts['documents'], 'training document')}, with {display.number(found)} of "
        f"{display.counted(items, 'test item')}"
    )


def _outputs_in_words(options: DecontaminateOptions) -> str:
    if options.dry_run or options.out is None:
        return "nothing (dry run)"
    if options.out == STREAM:
        return "the rows, to standard output"
    from neardup.io.outputs import names_in

    return display.printable(f"{typed_text(options.out)}: {', '.join(names_in(options.out))}")
