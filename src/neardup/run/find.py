"""The batch run: opened documents pass through the stages of ``stages/order.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from neardup.io.readers import choose_columns, open_documents
from neardup.join.base_documents import open_base
from neardup.run.asked_columns import FindKeywords, reference_of, require_reference
from neardup.run.fates import refuse_files
from neardup.run.findings import Found
from neardup.run.pipeline import Meter
from neardup.run.shares import require_most_removed
from neardup.run.stages.order import run_stages
from neardup.run.stages.records import Inputs
from neardup.run.stages.result import Outcome
from neardup.run.stored_review import reviewed
from neardup.runtime import Progress, Silent
from neardup.settings import SettingKeywords, Settings


def find(
    documents: object,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    against: object | None = None,
    ignore: object | None = None,
    decisions: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FindKeywords],
) -> Found:
    """Find near-duplicate documents, prove each pair, and group them.

    ``documents``: paths; a list, tuple or array of str; a frame of pandas, polars or another library; Arrow data;
    a list of dict, or a dict of columns; data sets of Hugging Face and of pyarrow; an iterator of str, dict or
    Arrow batches (docs/howto/dataframes.md). ``text`` and ``id`` name columns or nested fields, ``text`` also
    several (docs/howto/what-is-compared.md); ``against`` is a reference set of the same kinds, with the same
    columns, unless ``against_text`` and ``against_id`` name its own. ``ignore``: paths of files or folders with
    base texts, such as templates, whose shingles do not count. ``decisions`` is the folder of a result that people
    have reviewed: the groups follow their decisions. ``settings``: see :data:`neardup.settings.FIELDS`.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> found = find([text, text + " today", "something else"], threshold=0.8)
    >>> found.pairs.select(["id_a", "id_b", "shared", "size_a", "size_b"]).to_pylist()
    [{'id_a': 0, 'id_b': 1, 'shared': 9, 'size_a': 9, 'size_b': 10}]
    """
    of_old = settings.pop("against_text", None), settings.pop("against_id", None)
    chosen = Settings.of(**cast(SettingKeywords, settings))
    opened = open_documents(documents, reading=chosen.reading)
    columns = choose_columns(opened, text, id)
    old = None if against is None else open_documents(against, reading=chosen.reading)
    reference = reference_of(old, columns, *of_old)
    base = open_base(ignore, columns, chosen.reading)
    review = None if decisions is None else reviewed(decisions)
    inputs = Inputs(opened, columns, chosen, reference, ignore=base, review=review)
    return run(inputs, progress).found


def run(inputs: Inputs, progress: Progress | None = None) -> Outcome:
    """Find near-duplicates of opened documents.

    Under a memory limit, working files are made where ``scratch.working_in`` says. Raises SettingError for
    settings that need a reference set, and InputError for input that cannot be used.
    """
    require_reference(inputs.settings.keep, inputs.settings.relations, inputs.against)
    outcome: Outcome
    (outcome,) = run_stages(inputs, Meter(progress or Silent()))
    return outcome


Given = TypeVar("Given")


def dedup(
    documents: Given,
    *,
    text: str | None = None,
    id: str | None = None,
    against: object | None = None,
    ignore: object | None = None,
    decisions: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FindKeywords],
) -> Given:
    """Return the documents that stay, in the type that was given, in their order and with all their columns.

    The arguments are those of :func:`neardup.find`, which also gives the reasons: this is
    ``find(documents, …).kept``. A pandas frame keeps its index. No columns are added; those of ``count`` and
    ``sources`` are in ``find(documents, …).groups``.

    Raises SettingError and InputError as ``find`` does, and InputError for names of files, whose documents
    ``neardup dedup`` writes; OutputError if more would go than ``most_removed`` allows.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> dedup([{"id": 1, "text": text}, {"id": 2, "text": text + " today"}], keep="first")
    [{'id': 1, 'text': 'the quick brown fox jumps over the lazy dog and runs far away'}]
    """
    refuse_files(documents)
    found = find(
        documents,
        text=text,
        id=id,
        against=against,
        ignore=ignore,
        decisions=decisions,
        progress=progress,
        **settings,
    )
    require_most_removed(found.run)
    kept: Any = found.kept
    return cast(Given, kept)
