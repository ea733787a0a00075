"""Commands on the file of a collection, from ``neardup collection add`` to ``backup``."""

from __future__ import annotations

import json as notation
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import typer

from neardup import display
from neardup.cli.config import given_here
from neardup.cli.log import count
from neardup.cli.messages import DONE, ERROR, REJECTED, error, told_if_stopped, warn
from neardup.cli.options import on_collections
from neardup.cli.output import CountedStages, watcher
from neardup.errors import FormatError, InputError, OutputError, SettingError, install
from neardup.io.decisions import Verdict
from neardup.io.place import Place, place_of
from neardup.settings import COLLECTION_FIELDS

if TYPE_CHECKING:
    from neardup.cli.options.on_files import PassagesOptions
    from neardup.collection import Added, Collection, GroupedPending, Near, StoredGroup
    from neardup.collection.answers import Hit, Page, WhyNot
    from neardup.collection.queries import Query
    from neardup.collection.shards import Collections


SERVICES = ("http://", "https://")
"""Beginnings of the addresses of services."""
EXTRA = {
    "starlette",
    "uvicorn",
    "h11",
    "prometheus_client",
    "itsdangerous",
    "python_multipart",
}
"""Packages of the extra service, by their import names."""
_SHOWN_PROBLEMS, _SHOWN_NEAR = 3, 10
_NOUNS = {"document": "document", "base": "boilerplate text"}
_SHOWN = 20
"""Members to list for a group; --json lists more."""


def open_existing(path: Place, wait: float = 10.0, *, upgrade: bool = False, readonly: bool = False) -> Collection:
    """Open an existing collection. Raises InputError if there is no file."""
    from neardup.collection import Collection

    require_there(path)
    return Collection(path, wait=wait, upgrade=upgrade, readonly=readonly)


def require_there(path: Place) -> None:
    """Raise InputError if there is no collection."""
    from neardup.collection.store import is_there

    if not is_there(path):
        raise InputError(f"There is no collection {path}", "A file of neardup collection add", "Check the name")


@contextmanager
def service_required() -> Iterator[None]:
    """Raise InputError with the way out if an import within the block lacks a package of the extra service."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise InputError(f"A server of neardup needs the package {error.name}", "", install("service")) from error


def opened_shards(
    places: Sequence[str],
    token_file: Path | None,
    seconds: float,
    *,
    wait: float = 10.0,
    readonly: bool = False,
    most_candidates: int | None = None,
    partial: bool = False,
) -> Collections:
    """Open collections, and name services, that answer as one; the services are not asked yet.

    ``partial``: a collection that cannot be opened is a shard that does not answer.
    """
    from neardup.collection.shard import AbsentShard, OpenShard
    from neardup.collection.shards import Collections
    from neardup.service.shard_client import RemoteShard

    if not 0 < seconds <= 3600:
        raise SettingError(f"--shard-seconds is {seconds:g}", "A number above 0 and at most 3,600")
    token, warning = None, ""
    if token_file:
        with service_required():
            from neardup.service.web.middleware import first_token
        token, warning = first_token(token_file)
    if warning:
        warn(warning)
    parts: list[Any] = []
    for place in places:
        if place.startswith(SERVICES):
            parts.append(RemoteShard(place, token, seconds))
        else:
            try:
                parts.append(OpenShard(open_existing(place_of(place), wait, readonly=readonly), most_candidates))
            except (InputError, OutputError, FormatError) as error:
                if not partial:
                    raise
                warn(error.given)
                parts.append(AbsentShard(display.printable(place), error))
    return Collections(parts)


def add(options: on_collections.AddOptions) -> int:
    """Add documents to a collection."""
    added, total = _add(options)
    counts = {**_counts(added), "documents": total}
    count(counts)
    if options.json:
        typer.echo(notation.dumps(counts, indent=2, ensure_ascii=False))
    else:
        for note in () if options.quiet else added.notes:
            typer.echo(display.printable(note))
        replaced = f", {display.number(added.replaced)} replaced" if options.replace else ""
        replaced += f", {display.number(added.unchanged)} unchanged" if added.unchanged else ""
        typer.echo(
            f"{display.counted(added.added, _NOUNS[options.role])} added{replaced}; "
            f"{display.printable(options.path)} holds {display.number(total)}"
        )
        for line in () if options.quiet else _repeats(added):
            typer.echo(line)
    if added.rejected:
        warn("\n".join(_rejected_lines(added, options.problems)))
    return REJECTED if added.rejected else DONE


def _add(options: on_collections.AddOptions) -> tuple[Added, int]:
    """Return the outcome, and the number of documents in the collection."""
    from neardup.collection import Collection, own_files
    from neardup.collection.answers import role_of
    from neardup.collection.store import is_there
    from neardup.io.inputs import choose_columns, open_files
    from neardup.io.outputs import ProblemList, access_of, limited_access

    near, on_near = _near_rule(options)
    role = role_of(options.role)
    path, problems = options.path, options.problems
    own = (*own_files(path), *([] if problems is None else [problems]))
    reading = options.reading.to_settings().reading
    documents = open_files(options.inputs, without=own, reading=reading)
    # before the collection is made, so that a mistake leaves none behind
    choose_columns(documents, options.text, options.id)
    access = access_of(documents)
    with nullcontext() if problems is None else ProblemList(problems, access=access) as listed:
        on_problem = listed.write if listed else None
        created = not is_there(path)
        with limited_access(access):
            opened = Collection(path, wait=options.wait, on_problem=on_problem, **_creation(options))
        with _removed_if_untouched(opened, created) as collection:
            with watcher() as progress:
                added = collection.add(
                    documents,
                    text=options.text,
                    id=options.id,
                    metadata=options.metadata,
                    on_duplicate="replace" if options.replace else "error",
                    progress=progress,
                    near=near,
                    on_near=on_near,
                    role=role,
                )
            return added, len(collection)


@contextmanager
def _removed_if_untouched(opened: Collection, created: bool) -> Iterator[Collection]:
    """Close a collection; a new one without a document leaves no file behind after an error."""
    try:
        with told_if_stopped(lambda: "no document was added"), opened as collection:
            yield collection
    except BaseException:
        from neardup.collection.store import remove_untouched

        if created:
            remove_untouched(opened.path)
        raise


def _creation(options: on_collections.AddOptions) -> dict[str, Any]:
    """Return the given settings of a new collection; those of an existing one must be equal."""
    given, values = given_here(options.explicit), asdict(options.settings.read())
    return {name: values[name] for name in COLLECTION_FIELDS if name in given}


def _near_rule(options: on_collections.AddOptions) -> tuple[Near | None, Any]:
    """Return the search and the action of --threshold, --on-near and --recall."""
    from neardup.collection import Near

    threshold, recall = options.threshold, options.near_recall
    if threshold is None:
        if options.on_near is not None or recall is not None:
            given = "--on-near or --recall was given without --threshold"
            raise SettingError(given, "", "Give --threshold RESEMBLANCE too")
        return None, "keep"
    return Near(threshold) if recall is None else Near(threshold, recall), options.on_near or "keep"


def _counts(added: Added) -> dict[str, Any]:
    problems = [
        {"source": problem.source, "row": problem.row, "reason": problem.reason} for problem in added.problems
    ]
    counts = {name: getattr(added, name) for name in ("added", "replaced", "unchanged", "rejected", "text_bytes")}
    if added.recall is None:
        return {**counts, "problems": problems}
    values = {name: getattr(added, name) for name in ("repeats", "linked", "left_out", "base_only", "recall")}
    return {**counts, **values, "near": [one.as_dict() for one in added.near], "problems": problems}


def _repeats(added: Added) -> Iterator[str]:
    if added.recall is None:
        return
    looked = display.Extent("row", added.added + added.replaced + added.left_out, unreadable=added.rejected)
    sure = looked.sure(added.recall)
    parts = [f"{display.counted(added.repeats, 'document')} near a stored one ({sure})"]
    parts += [f"{display.number(added.linked)} linked"] * bool(added.linked)
    parts += [f"{display.number(added.left_out)} not stored"] * bool(added.left_out)
    parts += [f"{display.number(added.base_only)} of boilerplate alone, near nothing"] * bool(added.base_only)
    yield ", ".join(parts)
    for one in added.near[:_SHOWN_NEAR]:
        group = "" if one.group is None else f", group {one.group}"
        similar = display.similarity(one.resemblance, 4)
        alike = f" ({display.printable(words)})" if (words := one.in_words()) else ""
        names = f"{display.printable(one.id)} repeats {display.printable(one.of)}"
        yield f"  {names}, {similar}{alike}: {one.action}{group}"
    if added.repeats > _SHOWN_NEAR:
        yield f"  and {display.number(added.repeats - _SHOWN_NEAR)} more; --json lists up to 1,000"


def _rejected_lines(added: Added, listed: Path | None) -> Iterator[str]:
    them = "it" if added.rejected == 1 else "them"
    where = f"; {display.printable(listed)} lists {them}" if listed else ""
    yield f"{display.counted(added.rejected, 'row')} rejected{where}. The first:"
    for problem in added.problems[:_SHOWN_PROBLEMS]:
        row = "" if problem.row is None else f" row {problem.row}"
        yield f"{display.printable(problem.source)}{row}: {display.printable(problem.reason)}"


def remove(options: on_collections.RemoveOptions) -> int:
    """Remove documents from a collection, all of them or none."""
    with open_existing(options.path, options.wait) as collection:
        removed = collection.remove(options.ids)
        left = len(collection)
    line = f"{display.counted(removed, 'document')} removed; "
    line += f"{display.printable(options.path)} holds {display.number(left)}"
    _say({"removed": removed, "documents": left} if options.json else [line])
    return DONE


def list_documents(options: on_collections.ListOptions) -> int:
    """List the documents of a collection in the order in which they were first added."""
    with open_existing(options.path) as collection:
        page = collection.list(options.after, options.limit)
    if options.json:
        typer.echo(notation.dumps(page.as_dict(), indent=2, ensure_ascii=False))
        return DONE
    for one in page.documents:
        parts = [display.printable(one.id), display.counted(one.tokens, "token")]
        parts += [f"group {one.group}"] * (one.group is not None) + ["boilerplate"] * (one.role == "base")
        parts += [display.printable(notation.dumps(one.metadata, ensure_ascii=False))] * bool(one.metadata)
        typer.echo("  ".join(parts))
    if not page.documents:
        typer.echo("no documents" if options.after is None else "no more documents")
    if page.next is not None:
        typer.echo(f"more: --after {page.next}")
    return DONE


def search(options: on_collections.SearchOptions) -> int:
    """Find the documents of a collection that fit a query."""
    from neardup.collection import answers
    from neardup.collection.queries import as_dict, describe, doubts, parse
    from neardup.io.inputs import read_document

    query = parse(options.query)
    why_not, explain, json = options.why_not, options.explain or query.explain, options.json
    if why_not is not None and (explain or options.after is not None):
        raise InputError("--why-not was given with --explain or --after", "One or the other", "Leave one out")
    if len(options.paths) > 1 or options.paths[0].startswith(SERVICES):
        return _search_shards(query, options)
    if options.partial:
        raise SettingError("--partial is given with one collection", "Several, the shards of one")
    with open_existing(place_of(options.paths[0])) as collection, collection.view() as lookups:
        if why_not is not None:
            own = options.include_self
            _say_why(answers.why_not(lookups, query, why_not, include_self=own, open_file=read_document), json)
        elif explain:
            plan = answers.explain(lookups, query, read_document)
            for sentence in doubts(plan):
                warn(display.printable(sentence))
            _say(as_dict(plan) if json else describe(plan))
        else:
            page = answers.search(
                lookups,
                query,
                limit=options.limit,
                after=options.after,
                include_self=options.include_self,
                fields=("" if json else "excerpt") if options.fields is None else options.fields,
                open_file=read_document,
                bounds=answers.Bounds(compared=options.most_compared),
            )
            _say_page(page, json)
    return DONE


def _say_why(answer: WhyNot, json: bool) -> None:
    _say(answer.as_dict() if json else [display.printable(line) for line in str(answer).splitlines()])


def shared_passages(options: PassagesOptions, id: str) -> int:
    """Show the passages of a stored document that others have."""
    from neardup.collection.answers import LENGTH

    if others := given_here(options.explicit) - {"inputs", "of", "length", "json"}:
        name = min(others).replace("_", "-")
        raise InputError(f"--of was given with --{name}", "--length and --json", "Leave one out")
    if len(options.inputs) > 1:
        raise InputError(f"--of was given with {len(options.inputs)} inputs", "One collection")
    with open_existing(place_of(options.inputs[0])) as collection:
        shared = collection.passages(id, length=LENGTH if options.length is None else options.length)
    _say(shared.as_dict() if options.json else str(shared).splitlines())
    return DONE


def _search_shards(query: Query, options: on_collections.SearchOptions) -> int:
    from neardup.collection.answers import hit_fields
    from neardup.collection.shard import ShardQuestion
    from neardup.io.inputs import read_document

    if options.explain or query.explain:
        raise InputError("EXPLAIN was given with several collections, or a service", "One collection, in a file")
    question = ShardQuestion(
        query=query,
        limit=options.limit,
        after=options.after,
        include_self=options.include_self,
        fields=hit_fields(("" if options.json else "excerpt") if options.fields is None else options.fields),
        compared=options.most_compared,
    )
    token, seconds = options.shard_token_file, options.shard_seconds
    with opened_shards(options.paths, token, seconds, partial=options.partial) as shards:
        if options.why_not is not None:
            _say_why(
                shards.why_not(options.query, options.why_not, include_self=options.include_self), options.json
            )
            return DONE
        page = shards.page_of(question, open_file=read_document, partial=options.partial)
    for number in page.missing:
        warn(f"Shard {number} of {len(options.paths)} does not answer: its documents are missing")
    _say_page(page, options.json)
    return DONE


def _say_page(page: Page, json: bool) -> None:
    for sentence in page.warnings:
        warn(display.printable(sentence))
    _say(page.as_dict() if json else list(_page_lines(page)))


def _say(answer: dict[str, Any] | list[str]) -> None:
    if isinstance(answer, dict):
        typer.echo(notation.dumps(answer, indent=2, ensure_ascii=False))
    for line in answer if isinstance(answer, list) else ():
        typer.echo(line)


def _page_lines(page: Page) -> Iterator[str]:
    number = f"{page.least}{display.counted(page.found or 0, 'document')}"
    yield f"{number} found ({page.sure()})" + (
        "" if page.found else "; put EXPLAIN before the query to see its meaning"
    )
    for hit in page.hits:
        yield from _of_hit(hit)
    if page.next:
        yield f"more: --after {page.next}"


def _of_hit(hit: Hit) -> Iterator[str]:
    yield display.printable(hit.id)
    evidence = hit.evidence
    if hit.metadata is not None:
        yield f"  {display.printable(notation.dumps(hit.metadata, ensure_ascii=False))}"
    if hit.text is not None:
        yield from (f"  | {display.printable(line)}" for line in hit.text.splitlines())
    if hit.excerpt is not None and (evidence is None or evidence.passage is None):
        yield f"  {display.printable(' '.join(hit.excerpt.text.split()))}"
    if evidence is None:
        return
    yield (
        f"  {display.similarity(evidence.in_hit)} of the query in the hit ({evidence.shared:,} of "
        f"{display.counted(evidence.size_query, 'shingle')}), {display.similarity(evidence.in_query)} of the hit "
        f"in the query (of {evidence.size_hit:,}), resemblance {display.similarity(evidence.resemblance)}"
    )
    if evidence.passage:
        shown = display.printable(" ".join(evidence.passage.text.split()))
        yield f"  {display.counted(evidence.passage.words, 'word')} in a row: {shown}"


def groups(options: on_collections.GroupsOptions) -> int:
    """Show the groups of a collection, by id."""
    if options.regroup and options.complete:
        raise SettingError("--regroup was given with --complete", "One or the other", "Leave one out")
    if not (options.complete or options.regroup) and options.explicit & {"threshold", "near_recall"}:
        given = "--threshold or --recall was given without --complete or --regroup"
        raise SettingError(given, "", "Give one of them, too")
    if options.regroup and "threshold" not in options.explicit:
        raise SettingError("--regroup was given without --threshold", "", "Give --threshold, too")
    done = None
    with open_existing(options.path, options.wait) as collection:
        if options.complete or options.regroup:
            done = _complete(collection, options)
        page = collection.groups(options.after, options.limit)
        documents = len(collection)
    if options.json:
        answer = page.as_dict() if done is None else {**page.as_dict(), "completed": done.as_dict()}
        typer.echo(notation.dumps(answer, indent=2, ensure_ascii=False))
        return DONE
    if done is not None:
        sure = display.Extent("document", done.compared).sure(done.recall)
        parts = f"{display.number(done.repeats)} near another one ({sure}), {display.number(done.linked)} linked"
        if options.regroup:
            typer.echo(
                f"{display.counted(done.regrouped, 'group')} brought to the threshold {options.threshold:g}"
            )
        typer.echo(f"{display.counted(done.compared, 'document')} in no group compared: {parts}")
    for group in page.groups:
        for line in _group_lines(group):
            typer.echo(line)
    if not page.groups:
        typer.echo(_no_groups(options, done, documents))
    if page.next is not None:
        typer.echo(f"more: --after {page.next}")
    return DONE


def _no_groups(options: on_collections.GroupsOptions, done: GroupedPending | None, documents: int) -> str:
    if options.after is not None:
        return "no more groups"
    path = display.printable(shlex.quote(str(options.path)))
    if not documents:
        return f"no documents yet; this adds those of a folder: neardup collection add {path} FOLDER"
    if done is not None:
        return f"no groups: no document is near another one at --threshold {options.threshold:g}"
    command = f"neardup collection groups {path} --complete"
    return f"no groups yet; this compares the documents and groups those that are near: {command}"


def _complete(collection: Collection, options: on_collections.GroupsOptions) -> GroupedPending:
    from neardup.collection import Near

    recall, threshold = options.near_recall, options.threshold
    near = Near(threshold) if recall is None else Near(threshold, recall)
    with watcher() as progress:
        counting = CountedStages(progress)

        def progress_in_words() -> str:
            unit, verb = ("group", "regrouped") if counting.name == "regroup" else ("document", "compared")
            compared = f"{display.number(counting.done)} of {display.counted(counting.total, unit)} {verb}"
            stored = display.counted(collection.store.groups.count(), "group")
            return f"{compared}, and their groups are stored ({stored} in all); run it again to go on"

        with told_if_stopped(progress_in_words):
            work = collection.regroup if options.regroup else collection.group_pending
            return work(near, progress=counting)


def decide(options: on_collections.DecideOptions) -> int:
    """Decide whether two documents of a collection belong together."""
    a, b, verdict = options.a, options.b, options.verdict
    if verdict not in (*get_args(Verdict), "undecided"):
        raise SettingError(f"The verdict is {verdict!r}", f"One of {', '.join(get_args(Verdict))}, undecided")
    with open_existing(options.path, options.wait) as collection:
        if verdict == "undecided":
            was = collection.undecide(a, b, by=options.by)
            typer.echo("withdrawn" if was else "there was no decision about them")
        else:
            collection.decide(a, b, cast(Verdict, verdict), by=options.by, note=options.note)
            typer.echo(f"{verdict}: {display.printable(a)} and {display.printable(b)}")
    return DONE


def tag(options: on_collections.TagOptions) -> int:
    """Tag documents of a collection: by id, a whole group, or all that a query finds; or undo an action."""
    undo = options.undo or options.action is not None
    if undo and (options.ids or {options.tag, options.group, options.query} != {None}):
        raise SettingError("--undo was given with a tag or documents", "One or the other", "Leave one out")
    if undo:
        return _undo(options)
    if options.tag is None:
        raise SettingError("No tag was given", "A tag, or --undo")
    with open_existing(options.path, options.wait) as collection:
        action = collection.tag(
            options.tag,
            options.ids,
            group=options.group,
            query=options.query,
            on=not options.take_away,
            by=options.by,
        )
    if action is None:
        typer.echo("nothing to change")
    else:
        documents = display.counted(action.changes, "document")
        done = "taken from" if options.take_away else "added to"
        typer.echo(f"{display.printable(options.tag)} {done} {documents} (action {action.number:,})")
    return DONE


def _undo(options: on_collections.TagOptions) -> int:
    with open_existing(options.path, options.wait) as collection:
        action = collection.undo(options.by, options.action)
    if action is None:
        typer.echo("nothing to undo")
    else:
        changed = display.counted(action.changes, "decision")
        typer.echo(f"{display.printable(action.what)}: {changed} restored (action {action.number:,})")
    return DONE


def _group_lines(group: StoredGroup) -> Iterator[str]:
    yield f"group {group.id}: {display.counted(group.size, 'document')}, threshold {group.threshold:g}"
    for member in group.members[:_SHOWN]:
        similarity = (
            member.held_by if member.held_by == "representative" else display.similarity(member.resemblance, 4)
        )
        decided = ", held by a decision" if member.held_by == "decision" else ""
        alike = f"  {display.printable(words)}" if (words := member.in_words()) else ""
        yield f"  {display.printable(member.id)}  {similarity}{decided}{alike}"
    if group.size > _SHOWN:
        yield f"  and {display.number(group.size - _SHOWN)} more"


def info(options: on_collections.InfoOptions) -> int:
    """Show the size and settings of a collection."""
    with open_existing(options.path) as collection:
        known = collection.info()
    _say(known if options.json else list(display.aligned_lines(list(_facts(known)))))
    return DONE


def _facts(known: dict[str, Any]) -> Iterator[display.Line]:
    size = known["bytes"]
    yield "documents", display.number(known["documents"])
    if known["base_texts"]:
        yield "boilerplate", f"{display.number(known['base_texts'])} of these: their text counts in no document"
    yield "tokens", display.number(known["tokens"])
    yield "shingles", f"{display.number(known['shingles'])}, {display.number(known['postings'])} of them sampled"
    yield "texts", f"{display.size(size['text'])}, {display.size(size['text_packed'])} as stored"
    yield "groups", display.number(known["groups"])
    yield "file", display.size(size["file"])
    yield "settings", ", ".join(f"{name} {value}" for name, value in known["settings"].items())


def check(options: on_collections.CheckOptions) -> int:
    """Check a collection: derive everything from the texts again, and compare."""
    with open_existing(options.path) as collection, watcher() as progress:
        total, faults = len(collection), collection.check(progress)
    if options.json:
        typer.echo(notation.dumps({"documents": total, "faults": faults}, indent=2, ensure_ascii=False))
    elif not faults:
        typer.echo(f"{display.counted(total, 'document')} checked, no fault found")
    if faults:
        error("\n".join(map(display.printable, faults)) + "\nTry: Restore the collection from a copy.")
    return ERROR if faults else DONE


def compact(options: on_collections.CompactOptions) -> int:
    """Rewrite a collection without free space, and without the words of removed documents."""
    with open_existing(options.path, options.wait, upgrade=options.upgrade) as collection:
        before = collection.info()["bytes"]["file"]
        collection.compact()
        total, after = len(collection), collection.info()["bytes"]["file"]
    line = f"{display.printable(options.path)} has {display.size(after)}, {display.size(before)} before; "
    line += f"it holds {display.counted(total, 'document')}"
    _say({"documents": total, "before": before, "after": after} if options.json else [line])
    return DONE


def backup(options: on_collections.BackupOptions) -> int:
    """Copy a collection into a new file, while others read and write it."""
    with open_existing(options.path, options.wait) as collection:
        collection.backup(options.file)
    with open_existing(options.file) as copy:
        total, size = len(copy), copy.info()["bytes"]["file"]
    copied = f"{display.counted(total, 'document')}, {display.size(size)}, copied"
    line = f"{copied} to {display.printable(options.file)}"
    _say({"documents": total, "bytes": size} if options.json else [line])
    return DONE
