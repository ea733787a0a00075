"""The tools: plain functions from checked arguments to plain data of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from neardup.cli.agents.roots import LONGEST_NAME, Roots
from neardup.collection import Collection
from neardup.collection.pages import Hit
from neardup.collection.search import search
from neardup.display.view import excerpt
from neardup.errors import InputError, LimitError
from neardup.io.containers.addresses import MARK, is_container
from neardup.io.readers import AUTO, read_document
from neardup.io.readers.discovery import SUFFIXES_OF_FILES
from neardup.io.readers.rows import read_file_row
from neardup.measures import MEASURES
from neardup.run.find import find as run_find
from neardup.run.first_words import words_of
from neardup.run.looking import places_of
from neardup.run.records import Group
from neardup.run.texts import split_id
from neardup.runtime import Deadline
from neardup.runtime import Silent as NoProgress

MOST = 50
"""The most groups, chunks or hits in an answer."""
WORDS = 200
"""The most characters of a text in an answer."""
MOST_USED = ("resemblance", "containment_a", "containment_b", "shared", "shingles_a", "shingles_b", "lcs")
"""The measures in an answer unless all are asked for."""
_BEGINS_PATH = ("/", "./", "../", "~/")


Text = Annotated[str, Field(description="The text of the document itself, not the name of a file")]
File = Annotated[
    str,
    Field(
        description="A file, a file in an archive (letters.zip!/a.txt), or a row of a data file (mails.jsonl#17, "
        "from 0); relative to the first folder of the server, as the path of a member of find is"
    ),
]
TextColumn = Annotated[
    str, Field(description="The column or field that holds the text, in data files; guessed unless given")
]
StoredIn = Annotated[
    str, Field(description="The file of the collection (.neardup), relative to the first folder of the server")
]


@dataclass(frozen=True)
class Tools:
    """The tools of an agent, with the files below ``roots``; a call has ``seconds``."""

    roots: Roots
    seconds: float

    def compare(
        self,
        a: Text = "",
        b: Text = "",
        path_a: File = "",
        path_b: File = "",
        column: TextColumn = "",
        length: Annotated[int, Field(description="The words in a shingle")] = 5,
        all_measures: Annotated[
            bool, Field(description="Answer every measure with its counts, and not only the most used ones")
        ] = False,
    ) -> dict[str, Any]:
        """Compare two documents: the measures, the kind of the difference, the common text.

        Give each document as its text (a, b) or as a file (path_a, path_b). resemblance is the Jaccard similarity
        of the shingles; containment_a is the share of the shingles of A that are in B.
        """
        from neardup.comparison.compare import compare

        one, other = self._text(a, path_a, column, "a"), self._text(b, path_b, column, "b")
        found = compare(one, other, length=length, seconds=self.seconds)
        chunks = sorted(found.chunks(), key=lambda chunk: -len(chunk["text_a"]))
        shown = [
            {"a": excerpt(chunk["text_a"], WORDS), "b": excerpt(chunk["text_b"], WORDS)} for chunk in chunks[:MOST]
        ]
        measures = dict(found.measures)
        return {
            "difference": found.difference,
            "measures": measures if all_measures else {name: measures[name] for name in MOST_USED},
            "common_text": shown,
            "common_text_left_out": len(chunks) - len(shown),
        }

    def find(
        self,
        paths: Annotated[
            list[str] | None,
            Field(
                description="Files, folders, archives or patterns (mails/*.jsonl), relative to the first folder "
                "of the server: text, HTML, DOCX and mail, or JSONL, CSV, Parquet and Arrow"
            ),
        ] = None,
        texts: Annotated[
            list[str] | None, Field(description="The texts themselves, in place of paths; their ids are 0, 1, …")
        ] = None,
        threshold: Annotated[float, Field(description="The least value of the measure, above 0 up to 1")] = 0.8,
        measure: Annotated[
            str,
            Field(
                description="What is compared with the threshold: "
                + "; ".join(f"{name}: {one.help}" for name, one in MEASURES.items()),
                json_schema_extra={"enum": list(MEASURES)},
            ),
        ] = "resemblance",
        column: TextColumn = "",
    ) -> dict[str, Any]:
        """Find groups of near-duplicate documents in files or texts. Every pair is verified; nothing is changed.

        Each group lists its representative first; each member has its similarity to it, the reason, the first
        words and, in files, the path that compare accepts.
        """
        if bool(paths) == bool(texts):
            raise InputError(f"{'Both' if paths else 'Neither'} paths and texts were given", "One of the two")
        # in an array, they are texts; a list of the names of files is refused if these exist
        given: Any = self.roots.documents(paths) if paths else pa.array(self.roots.texts(texts or []))
        found = run_find(
            given, text=column or None, progress=_InTime(self.seconds), threshold=threshold, measure=measure
        )
        counts = found.run["counts"]
        listed = list(found.first_groups(MOST))
        ids = {member.id for group in listed for member in group.members[:MOST]}
        words = words_of(found, ids, width=WORDS)  # of all groups at once: it may read the input again
        places = {id: self._place(file, row) for id, file, row in places_of(found, ids)}
        groups = [_group(group, words, places) for group in listed]
        named = [text for text in texts or () if looks_like_a_path(text)]
        return {
            "documents": counts["read"],
            "not_read": len(found.problems),
            "pairs": found.pairs.num_rows,
            "exact_copies": found.copies.num_rows,
            "groups": groups,
            "groups_left_out": counts["groups"] - len(groups),
            **({"note": f"{excerpt(named[0], WORDS)} was compared as a text; paths reads files"} if named else {}),
        }

    def search(
        self,
        collection: StoredIn,
        query: Annotated[
            str,
            Field(
                description='Words (harbour AND office), "a phrase", or FINGERPRINT:id_20_80, the documents that '
                "share at least 20 % of the shingles of document id, found with a certainty of 80 %"
            ),
        ],
        limit: Annotated[int, Field(description=f"The most hits in the answer, from 1 to {MOST}")] = 10,
    ) -> dict[str, Any]:
        """Search a collection of documents (a .neardup file) of any size. Each hit has its evidence."""
        if not 1 <= limit <= MOST:
            raise InputError(f"limit is {limit}", f"A whole number from 1 to {MOST}")
        path = self.roots.collection(collection)
        with Collection(path, readonly=True) as opened, opened.view(self.seconds) as view:
            page = search(view, query, limit=limit)
            texts = {hit.id: excerpt(opened.get(hit.id).text, WORDS) for hit in page.hits}
        return {"hits": [_hit(hit, texts[hit.id]) for hit in page.hits], "more": page.next is not None}

    def add(
        self,
        collection: StoredIn,
        id: Annotated[str, Field(description="The id of the document")],
        text: Text,
        replace: Annotated[
            bool, Field(description="Replace the document of this id; otherwise it is an error if there is one")
        ] = False,
    ) -> dict[str, Any]:
        """Add a document to a collection that exists, or replace it. Reports the documents that it repeats."""
        path = self.roots.collection(collection)
        self.roots.texts([text])
        with Collection(path) as opened:
            document = pa.table({"id": [id], "text": [text]})
            added = opened.add(document, on_duplicate="replace" if replace else "error", near=0.8)
        return {
            "added": added.added,
            "replaced": added.replaced,
            "repeats": [one.as_dict() for one in added.near[:MOST]],
        }

    def _place(self, file: str, row: int | None) -> str:
        """Return the name of a document as ``compare`` accepts it: a file, or a row of a file."""
        named = self.roots.relative(file)
        return named if row is None else f"{named}#{row}"

    def _text(self, text: str, path: str, column: str, name: str) -> str:
        if bool(text) == bool(path):
            raise InputError(
                f"Document {name} has {'both' if text else 'neither'} a text and a path", "One of them"
            )
        if text:
            if looks_like_a_path(text) or self.roots.has(text):
                raise InputError(
                    f"{name} is {excerpt(text, WORDS)!r}, which is the name of a file",
                    "The text of a document",
                    f"Give it as path_{name} to read the file, or with a space after it to compare the name",
                )
            return self.roots.texts([text])[0]
        file, row = split_id(path)
        if file is None or row is None or self.roots.has(path):
            return read_document(self.roots.document(path))
        return read_file_row(self.roots.document(file), row, column or None, AUTO)


def looks_like_a_path(text: str) -> bool:
    """Return whether a text is one word that is written as the name of a file; asks no file system.

    >>> [looks_like_a_path(text) for text in ("x.html", "/etc/passwd", "mails.jsonl#17", "and/or", "x. html")]
    [True, True, True, False, False]
    """
    if any(char.isspace() for char in text) or len(text) > LONGEST_NAME or "://" in text:
        return False
    file = (split_id(text)[0] or text).partition(MARK)[0]
    return text.startswith(_BEGINS_PATH) or is_container(file) or file.lower().endswith(SUFFIXES_OF_FILES)


def _group(group: Group, words: Mapping[Any, str], places: Mapping[Any, str]) -> dict[str, Any]:
    members = [
        {
            "id": str(member.id),
            **({"path": places[member.id]} if member.id in places else {}),
            "similarity": member.similarity,
            "reason": member.reason,
            "first_words": words.get(member.id, ""),
        }
        for member in group.members[:MOST]
    ]
    return {"members": members, "members_left_out": len(group.members) - len(members)}


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
