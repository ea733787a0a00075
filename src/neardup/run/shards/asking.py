"""Verification without the texts: a merge asks for shingle sets, and the machines that have the texts answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from neardup.errors import InputError, SettingError
from neardup.io.fingerprints.documents import FingerprintedDocuments
from neardup.io.fingerprints.exchange import Answer, Request, read_answer
from neardup.io.fingerprints.reading import SavedFingerprints
from neardup.join.corpus import Corpus, CorpusChunk
from neardup.join.first_pass import fingerprint
from neardup.join.method import choose
from neardup.join.pair_file import documents_in
from neardup.join.rows import Rows
from neardup.join.search import propose
from neardup.lsh.bands import plan
from neardup.measures import MEASURES, Features
from neardup.run.account import Stages
from neardup.run.asked_columns import parts_of
from neardup.runtime import Progress
from neardup.settings import Settings
from neardup.sketch.documents import ShingleSets
from neardup.tables import Int64s, UInt64s, distinct

_FEATURES: tuple[Features, ...] = ("shingles", "words", "occurrences")
"""The features that an answer can hold: sets. Measures of common text need the texts."""


def wanted(documents: FingerprintedDocuments, settings: Settings, progress: Progress) -> Request:
    """Return the rows whose sets a merge with these settings reads: those of candidates; all for an exact join.

    No text is read. Raises SettingError for settings that need the texts themselves.
    """
    require_sets(settings)
    asked, stages = settings.search, Stages(progress)
    corpus = Corpus.of(parts_of(documents, documents.chosen, settings, None), settings)
    bands = None if settings.by_simhash else plan(asked.threshold, asked.recall, settings.sketch.slots)
    rows, sketches = fingerprint(corpus, 0 if bands is None else settings.sketch.slots, stages, bands)
    chosen = choose(asked, int(rows.units[rows.unique].sum()), settings.shingles.unit)
    if bands is not None and chosen.method == "exact":
        found = rows.unique
    else:
        _, proposal = propose(rows, sketches, bands, stages)
        involved = documents_in(proposal.candidates.pairs, len(rows.unique))
        found = rows.unique[distinct(proposal.candidates.hub, involved)]
    return Request(_features(settings), _by_part(documents, rows, found))


def require_sets(settings: Settings) -> None:
    """Raise SettingError for settings under which a run reads more of the texts than their sets."""
    asked = (
        (MEASURES[settings.search.measure].features not in _FEATURES, f"measure is {settings.search.measure!r}"),
        (settings.grouping.kinds, "kinds was given"),
        (settings.base.ignore_common > 0, "ignore_common was given"),
        (settings.search.audit > 0, "audit was given"),
    )
    for holds, given in asked:
        if holds:
            raise SettingError(
                f"{given}, and texts are not read",
                "Measures of sets, without kinds, ignore_common and audit, when shingle sets are asked for",
                "Merge where the texts can be read, or leave it out",
            )


def answered(part: SavedFingerprints, request: Request, documents: FingerprintedDocuments) -> Answer:
    """Return the shingle sets of the requested rows of a part; ``documents`` are those of the part.

    Raises InputError for a part that the request does not name, and for texts that cannot be read.
    """
    rows = request.rows.get(part.manifest.seal)
    if rows is None:
        raise InputError(
            f"The request names no rows of {part.folder}",
            "A part of the merge that made the request",
            "Nothing is needed of this part",
        )
    if len(rows) and (rows[0] < 0 or rows[-1] >= part.manifest.counts.rows or (np.diff(rows) <= 0).any()):
        raise part.unusable("the request names rows that it does not have")
    settings = part.settings
    corpus = Corpus(parts_of(documents, documents.chosen, settings, None), settings, documents.key, _pieces(part))
    return Answer(part.manifest.seal, rows, {name: _sets(corpus, rows, name) for name in _known(request)})


def _known(request: Request) -> list[Features]:
    return [name for name in _FEATURES if name in request.features]


def _sets(corpus: Corpus, rows: Int64s, features: Features) -> tuple[UInt64s, Int64s]:
    sets: list[ShingleSets] = list(corpus.with_shingle_sets(rows, lambda _, found: found, features))
    hashes = np.concatenate([np.empty(0, np.uint64), *(found.hashes for found in sets)])
    sizes = np.concatenate([np.zeros(1, np.int64), *(found.sizes for found in sets)])
    return hashes, np.cumsum(sizes)


def _pieces(part: SavedFingerprints) -> tuple[CorpusChunk, ...]:
    described = part.described.to_pylist()
    firsts = [0, *accumulate(chunk["rows"] for chunk in described)]
    return tuple(
        CorpusChunk(0, chunk["index"], chunk["source"], first, np.arange(chunk["rows"]))
        for chunk, first in zip(described, firsts, strict=False)
    )


def _features(settings: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys((MEASURES[settings.search.measure].features, "shingles")))


def _by_part(documents: FingerprintedDocuments, rows: Rows, found: Int64s) -> dict[str, Int64s]:
    """The rows of each part: those of all parts are numbered one after the other."""
    firsts = [0, *accumulate(part.manifest.counts.rows for part in documents.parts)]
    if firsts[-1] != len(rows):
        raise documents.parts[0].unusable("its files do not belong together")
    parts = np.split(found, np.searchsorted(found, firsts[1:-1]))
    return {
        part.manifest.seal: mine - first
        for part, mine, first in zip(documents.parts, parts, firsts, strict=False)
        if len(mine)
    }


def open_answers(paths: Sequence[Path], documents: FingerprintedDocuments) -> FingerprintedDocuments:
    """Return documents whose sets come from these answers and not from texts.

    Raises InputError for an answer that is changed, of another key, or for a part that is not merged.
    """
    known = {part.manifest.seal for part in documents.parts}
    found = {}
    for path in paths:
        answer = read_answer(path, documents.secret)
        if answer.part not in known:
            raise InputError(
                f"{path} answers for a part that is not merged here",
                "Answers for the given parts, as they are now",
                "Leave it out, or ask again: the part may have been fingerprinted again",
            )
        found[answer.part] = answer
    return documents.with_answers(found)
