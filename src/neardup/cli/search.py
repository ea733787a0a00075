"""``neardup search``: search a collection for documents that fit a query."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.collection import opened
from neardup.cli.messages import DONE, warn
from neardup.cli.options.on_collections import SearchOptions
from neardup.errors import InputError

if TYPE_CHECKING:
    from neardup.collection.pages import Hit, Page


def search(options: SearchOptions) -> int:
    """Find the documents of a collection that fit a query."""
    from neardup.collection import search as searching
    from neardup.collection.query import explanation, parse
    from neardup.collection.query.explanation import doubts
    from neardup.collection.search import why_not as asked_why_not
    from neardup.io.readers import read_document

    asked = parse(options.query)
    why_not, explain, json = options.why_not, options.explain or asked.explain, options.json
    if why_not is not None and (explain or options.after is not None):
        raise InputError("--why-not was given with --explain or --after", "One or the other", "Leave one out")
    with opened(options.path) as collection, collection.view() as lookups:
        if why_not is not None:
            answer = asked_why_not(
                lookups, asked, why_not, include_self=options.include_self, open_file=read_document
            )
            _say(answer.as_dict() if json else [display.printable(line) for line in str(answer).splitlines()])
        elif explain:
            plan = searching.explain(lookups, asked, read_document)
            for sentence in doubts(plan):
                warn(display.printable(sentence))
            _say(explanation.as_dict(plan) if json else explanation.describe(plan))
        else:
            page = searching.search(
                lookups,
                asked,
                limit=options.limit,
                after=options.after,
                include_self=options.include_self,
                open_file=read_document,
            )
            for sentence in page.warnings:
                warn(display.printable(sentence))
            _say(page.as_dict() if json else list(_lines(page)))
    return DONE


def _say(answer: dict[str, Any] | list[str]) -> None:
    if isinstance(answer, dict):
        typer.echo(notation.dumps(answer, indent=2, ensure_ascii=False))
    for line in answer if isinstance(answer, list) else ():
        typer.echo(line)


def _lines(page: Page) -> Iterator[str]:
    sure = "complete" if page.recall == 1 else f"recall {display.similarity(page.recall, 4)} or more"
    number = display.counted(page.found or 0, "document")
    yield f"{number} found ({sure})" + ("" if page.found else "; put EXPLAIN before the query to see its meaning")
    for hit in page.hits:
        yield from _of_hit(hit)
    if page.next:
        yield f"more: --after {page.next}"


def _of_hit(hit: Hit) -> Iterator[str]:
    yield display.printable(hit.id)
    found = hit.evidence
    if found is None:
        return
    yield (
        f"  holds {display.similarity(found.containment_a)} of the query document ({found.shared:,} of "
        f"{display.counted(found.size_a, 'shingle')}), is held {display.similarity(found.containment_b)} "
        f"(of {found.size_b:,}), resemblance {display.similarity(found.resemblance)}"
    )
    if found.passage:
        shown = display.printable(" ".join(found.passage.text.split()))
        yield f"  {display.counted(found.passage.words, 'word')} in a row: {shown}"
