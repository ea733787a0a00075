"""The tools: plain functions from checked arguments to plain data of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neardup.cli.agents.roots import Roots
from neardup.collection import Collection
from neardup.collection.pages import Hit
from neardup.collection.search import search
from neardup.errors import InputError, LimitError
from neardup.run.find import find as run_find
from neardup.run.first_words import words_of
from neardup.run.records import Group
from neardup.runtime import Deadline
from neardup.runtime import Silent as NoProgress

MOST = 50
"""The most groups, chunks or hits in an answer."""
WORDS = 200
"""The most characters of a text in an answer."""


@dataclass(frozen=True)
class Tools:
    """The tools of an agent, with the files below ``roots``; a call has ``seconds``."""

    roots: Roots
    seconds: float

    def compare(
        self, a: str = "", b: str = "", path_a: str = "", path_b: str = "", length: int = 5
    ) -> dict[str, Any]:
        """Compare two documents: every measure with its counts, the kind of the difference, the common text.

        Give each document as its text (a, b) or as a file (path_a, path_b). length is the words in a shingle.
        resemblance is the Jaccard similarity of the shingles; containment_a is the share of A that is in B.
        """
        from neardup.comparison.compare import compare

        one, other = self._text(a, path_a, "a"), self._text(b, path_b, "b")
        found = compare(one, other, length=length, seconds=self.seconds)
        chunks = sorted(found.chunks(), key=lambda chunk: -len(chunk["text_a"]))
        shown = [{"a": excerpt(chunk["text_a"]), "b": excerpt(chunk["text_b"])} for chunk in chunks[:MOST]]
        return {
            "difference": found.difference,
            "measures": dict(found.measures),
            "common_text": shown,
            "common_text_left_out": len(chunks) - len(shown),
        }

    def find(
        self,
        paths: list[str] | None = None,
        texts: list[str] | None = None,
        threshold: float = 0.8,
        measure: str = "resemblance",
        column: str = "",
    ) -> dict[str, Any]:
        """Find groups of near-duplicate documents in files or texts. Every pair is verified; nothing is changed.

        Give paths (text files, folders, JSONL, CSV or Parquet; column names their text) or texts. Each group lists
        its representative first; each member has its similarity to it, the reason and the first words.
        """
        if bool(paths) == bool(texts):
            raise InputError(f"{'Both' if paths else 'Neither'} paths and texts were given", "One of the two")
        given: Any = self.roots.documents(paths) if paths else self.roots.texts(texts or [])
        found = run_find(
            given, text=column or None, progress=_InTime(self.seconds), threshold=threshold, measure=measure
        )
        counts = found.run["counts"]
        listed = list(found.first_groups(MOST))
        ids = {member.id for group in listed for member in group.members[:MOST]}
        words = words_of(found, ids, width=WORDS)  # of all groups at once: it may read the input again
        groups = [_group(group, words) for group in listed]
        return {
            "documents": counts["read"],
            "not_read": len(found.problems),
            "pairs": found.pairs.num_rows,
            "exact_copies": found.copies.num_rows,
            "groups": groups,
            "groups_left_out": counts["groups"] - len(groups),
        }

    def search(self, collection: str, query: str, limit: int = 10) -> dict[str, Any]:
        """Search a collection of documents (a .neardup file).

        query: words (harbour AND office), "a phrase", or FINGERPRINT:id_20_80, the documents that share at least
        20 % of the shingles of document id, found with a certainty of 80 %. Each hit has its evidence.
        """
        if not 1 <= limit <= MOST:
            raise InputError(f"limit is {limit}", f"A whole number from 1 to {MOST}")
        path = self.roots.file(collection)
        with Collection(path, readonly=True) as opened, opened.view(self.seconds) as view:
            page = search(view, query, limit=limit)
            texts = {hit.id: excerpt(opened.get(hit.id).text) for hit in page.hits}
        return {"hits": [_hit(hit, texts[hit.id]) for hit in page.hits], "more": page.next is not None}

    def add(self, collection: str, id: str, text: str, replace: bool = False) -> dict[str, Any]:
        """Add a document to a collection that exists, or replace it. Reports the documents that it repeats."""
        path = self.roots.file(collection)
        self.roots.texts([text])
        with Collection(path) as opened:
            document = pa.table({"id": [id], "text": [text]})
            added = opened.add(document, on_duplicate="replace" if replace else "error", near=0.8)
        return {
            "added": added.added,
            "replaced": added.replaced,
            "repeats": [one.as_dict() for one in added.near[:MOST]],
        }

    def _text(self, text: str, path: str, name: str) -> str:
        if bool(text) == bool(path):
            raise InputError(
                f"Document {name} has {'both' if text else 'neither'} a text and a path", "One of them"
            )
        if text:
            return self.roots.texts([text])[0]
        from neardup.io.readers import read_document

        return read_document(self.roots.file(path))


def _group(group: Group, words: Mapping[Any, str]) -> dict[str, Any]:
    members = [
        {
            "id": str(member.id),
            "similarity": member.similarity,
            "reason": member.reason,
            "first_words": words.get(member.id, ""),
        }
        for member in group.members[:MOST]
    ]
    return {"members": members, "members_left_out": len(group.members) - len(members)}


def excerpt(text: str) -> str:
    """Return the first characters of a text in one line."""
    line = " ".join(text[: 4 * WORDS].split())
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"


def _hit(hit: Hit, text: str) -> dict[str, Any]:
    return {**hit.as_dict(), "first_words": text}


class _InTime(NoProgress):
    """Ends a run at the first step after its time."""

    def __init__(self, seconds: float) -> None:
        def late() -> LimitError:
            return LimitError(
                f"The run takes longer than {seconds:g} seconds",
                "",
                "Name fewer files, or start the server with more --seconds",
            )

        self._deadline = Deadline(seconds, late)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Any]:
        """Check the time when the stage begins and with every step."""
        self._deadline.check()
        yield lambda amount: self._deadline.check()
