"""``neardup passages``: repeated passages, their places, texts without them, and the tokens of parts."""

from __future__ import annotations

import json as notation
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from pathlib import Path

import typer

from neardup import display
from neardup.cli.log import count
from neardup.cli.messages import DONE, REJECTED, resumable, warn
from neardup.cli.option import typed_text
from neardup.cli.options.on_files import READING, PassagesOptions
from neardup.cli.output import open_output, refuse_unusable_out, watcher
from neardup.corpus.passages import (
    CutRules,
    ScannedParts,
    document_table,
    length_of,
    lines_of,
    passages_of,
    unit_of,
    write_cut,
    write_passages,
    write_scan,
)
from neardup.deduplication.runs import Meter, journal_facts, open_journal
from neardup.errors import InputError, OutputError, SettingError
from neardup.io.fingerprints import key_file, shared_secret
from neardup.io.inputs import Chosen, Documents, choose_columns, open_files
from neardup.io.outputs import FinishedParts, RunJournal, common_access, discard, working_in
from neardup.runtime import new_secret
from neardup.settings import Settings

_SCAN = "passages --scan"
_OF_SCANS = {"inputs", "out", "text", "id", "settings", "scan", "key", "json", *READING, "memory", "threads"}


def passages(options: PassagesOptions) -> int:
    """Find the passages that occur more than once; write them, their places, and the texts without them."""
    if options.of is not None:
        from neardup.cli.collection import shared_passages

        return shared_passages(options, options.of)
    if options.scan:
        return _scan(options)
    if "key" in options.explicit:
        raise SettingError("--key was given without --scan", "--scan with it", "Leave it out")
    refuse_unusable_out(options)
    settings, rules, unit = options.settings.to_settings(), _cut_rules(options), unit_of(options.unit)
    shape = unit, length_of(options.length, unit)
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text or None, options.id)
    cut = None
    with watcher() as progress, ExitStack() as opened:
        folder = None
        if options.out is not None and not options.dry_run:
            folder = opened.enter_context(open_output(options.out, overwrite=options.overwrite))
            folder.restrict(common_access((*options.inputs, *options.scanned)))
        parts = opened.enter_context(_parts(options, shape, settings, documents, columns))
        opened.enter_context(working_in(None if folder is None else folder.target.parent, parts))
        meter = Meter(progress)
        result = passages_of(documents, columns, shape, settings, meter)
        if folder is not None and rules is not None:
            cut = write_cut(result, documents, columns, rules, folder, meter)
        if folder is not None and options.within_document:
            folder.write_table("documents.parquet", document_table(result, meter))
        more = {} if cut is None or rules is None else {"cut": {"keep": rules.keep, **cut._asdict()}}
        account = {**result.as_dict(), **more}
        count(account["counts"])
        if folder is not None:
            write_passages(result, folder, account, meter)
    if options.out is not None and not options.dry_run:
        discard(options.out)
    if options.json:
        typer.echo(notation.dumps(account, indent=2, ensure_ascii=False))
    else:
        if cut is not None:
            cuts, done = display.counted(cut.cuts, "place"), "marked" if options.annotate else "cut"
            typer.echo(f"{done}: {display.counted(cut.tokens, 'token')}" + (f" in {cuts}" if cut.cuts else ""))
            if cut.short:
                few = display.counted(cut.short, "document")
                typer.echo(f"{few} with fewer than {options.min_tokens} tokens left: short.parquet has them")
        first, *rest = lines_of(result.shown)
        for line in (first,) if options.quiet else (first, *map(display.printable, result.notes), *rest):
            typer.echo(line)
        written = "nothing (dry run)" if options.dry_run or options.out is None else typed_text(options.out)
        typer.echo(f"written: {display.printable(written)}")
        if problems := len(result.stream.problems):
            where = "nothing was written" if options.dry_run else f"{written}/problems.jsonl says where and why"
            warn(f"{display.counted(problems, 'row')} could not be read: {where}")
    return REJECTED if result.stream.problems else DONE


def _parts(
    options: PassagesOptions,
    shape: tuple[str, int | None],
    settings: Settings,
    documents: Documents,
    columns: Chosen,
) -> AbstractContextManager[FinishedParts | None]:
    """Open the scans of all parts, or the journal of a search that may go on later."""
    if options.scanned:
        if options.resume:
            raise SettingError("--resume and --scanned were given", "One of them", "Leave one out")
        facts = journal_facts(_SCAN, settings, columns, {"input": documents})
        return closing(ScannedParts(list(map(Path, options.scanned)), facts))
    if not options.resume or options.out is None or options.dry_run:
        return nullcontext()
    command = f"passages --unit {shape[0]} --length {shape[1]}"
    return resumable(open_journal(options.out, command, settings, columns, {"input": documents}, None, None))


def _scan(options: PassagesOptions) -> int:
    """Store the tokens of a part of the documents; a scan that was stopped goes on."""
    if options.out is None:
        raise OutputError("No folder for the scan was given", "", "Give -o SCAN")
    if typed_text(options.out) != str(options.out):
        raise OutputError(
            f"{typed_text(options.out)} is a URL", "A folder on this machine: it has the key of the scans"
        )
    if others := options.explicit - _OF_SCANS:
        name = min(others).replace("_", "-")
        raise SettingError(f"--{name} was given with --scan", "Options of the first reading", "Leave it out")
    settings = options.settings.to_settings()
    documents = open_files(options.inputs, reading=settings.reading)
    if documents.format == "text":
        raise InputError("The input has one document a file", "Data files with --scan", "Leave out --scan")
    columns = choose_columns(documents, options.text or None, options.id)
    facts = journal_facts(_SCAN, settings, columns, {"input": documents})
    secret = shared_secret(key_file(options.out, options.key), new_secret())
    journal = RunJournal(options.out, facts, secret)
    with watcher() as progress, resumable(journal):
        stream = write_scan(documents, columns, journal, settings.work.threads, Meter(progress))
    counts = {
        "documents": len(stream.documents),
        "tokens": len(stream.tokens),
        "rejected": len(stream.problems),
    }
    if options.json:
        typer.echo(notation.dumps({"out": typed_text(options.out), **counts}, indent=2))
    else:
        for note in columns.notes:
            typer.echo(display.printable(note))
        of = f"{display.counted(counts['documents'], 'document')}, {display.counted(counts['tokens'], 'token')}"
        typer.echo(f"{display.printable(typed_text(options.out))}: {of}")
    return REJECTED if stream.problems else DONE


def _cut_rules(options: PassagesOptions) -> CutRules | None:
    """How to cut; None without --cut and --annotate."""
    if options.cut and options.annotate:
        raise SettingError("--cut and --annotate were given", "One of them", "Leave one out")
    if not options.cut and not options.annotate:
        for name, spelling in (("keep", "--keep"), ("min_tokens", "--min-tokens")):
            if name in options.explicit:
                raise SettingError(f"{spelling} was given", "--cut or --annotate with it", "Give one of them")
        return None
    return CutRules(options.keep, options.min_tokens, options.annotate)
