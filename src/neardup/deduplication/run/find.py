"""The batch run: its stages in order and the conditions of each, and the journal by which it goes on."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from neardup.deduplication.join.base_documents import open_base
from neardup.deduplication.join.search import ExactJoin
from neardup.deduplication.run.asked_columns import FindKeywords, reference_of, require_reference
from neardup.deduplication.run.fates import refuse_files
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.pipeline import Condition, Meter, Pipeline, Stage
from neardup.deduplication.run.sets import opened_sets, require_settings_of_sets
from neardup.deduplication.run.stages import groups, result, search
from neardup.deduplication.run.stages.account import Run, require_most_removed
from neardup.deduplication.run.stages.records import Inputs, LearnedSets, Purpose
from neardup.deduplication.run.stages.result import Outcome
from neardup.deduplication.run.stored_review import read_review
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.inputs import Chosen, Documents, Reference, SetDocuments, choose_columns, open_documents
from neardup.io.outputs import RunJournal, journal_of
from neardup.io.place import without_secrets
from neardup.io.sources import Source, refuse_stdin, whole_digest
from neardup.runtime import Progress, Silent, new_secret
from neardup.settings import (
    RECORDS,
    BaseTextSettings,
    GroupSettings,
    Keep,
    SearchSettings,
    SettingKeywords,
    Settings,
)
from neardup.tables import FORMAT_VERSION
from neardup.unicode import UNICODE_VERSION

IGNORE = Condition.of("--ignore", Inputs, lambda inputs: inputs.ignore is not None)
IGNORE_COMMON = Condition.of("--ignore-common", BaseTextSettings, lambda base: base.ignore_common > 0)
DROP = Condition.of("--empty drop", Keep, lambda keep: keep.empty == "drop")
PASSAGES = Condition(
    "not with --keep none",
    (
        *groups.NOT_NONE.holds,
        (Purpose, lambda purpose: purpose.action != "group"),
        (Inputs, lambda inputs: not isinstance(inputs.documents, SetDocuments)),
    ),
)
AUDIT = Condition.of("--audit", SearchSettings, lambda search: search.audit > 0)
KINDS = Condition.of("--kinds", GroupSettings, lambda grouping: grouping.kinds)

READING = (
    Stage(search.bands),
    Stage(search.corpus),
    Stage(search.base_text, IGNORE),
    Stage(search.first_pass),
    Stage(search.common_text, IGNORE_COMMON),
    Stage(search.names),
)
"""From inputs to rows: also where the most similar pairs are looked for."""

STAGES = (
    *READING,
    Stage(search.propose),
    Stage(groups.group_rules),
    Stage(groups.order),
    Stage(groups.copies),
    Stage(groups.resources),
    Stage(search.prove, holds=(LearnedSets,)),
    Stage(groups.group),
    Stage(groups.people_groups, groups.DECISIONS),
    Stage(groups.pairs_of_leaders),
    Stage(groups.leader_distances, holds=groups.HELD),
    *groups.FATES,
    Stage(groups.reported_pairs),
    Stage(groups.no_text, DROP),
    Stage(groups.counts, groups.COUNT),
    Stage(groups.no_removal, groups.GROUP),
    Stage(groups.lost_passages, PASSAGES, holds=groups.HELD),
    Stage(search.audit, AUDIT, holds=(ExactJoin,)),
    Stage(groups.audited_rows, AUDIT),
    Stage(search.missing_pairs),
    Stage(groups.copy_differences),
    Stage(groups.member_table),
    Stage(result.people_reasons, groups.DECISIONS),
    Stage(result.row_tables),
    Stage(result.pair_form),
    Stage(result.pairs),
    Stage(result.kinds_of_copies, KINDS),
    Stage(result.missed_pairs, AUDIT),
    Stage(Run),
    Stage(result.result),
)


def given_to(inputs: Inputs, meter: Meter) -> list[Any]:
    """The records that a run begins with: the settings are taken apart here, and a stage reads its own records."""
    settings = (getattr(inputs.settings, record) for record in RECORDS)
    review = () if inputs.review is None else (inputs.review,)
    return [inputs, Purpose(inputs.action), meter, *settings, *review]


def run_stages(inputs: Inputs, meter: Meter, *, wanted: tuple[type, ...] = (Outcome,)) -> list[Any]:
    """Run the stages over these inputs."""
    given = given_to(inputs, meter)
    return Pipeline.of(STAGES, given, wanted).run(*given)


def find(
    documents: object = None,
    *,
    sets: object = None,
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
    a list of dict, a dict of columns; {id: text}, or (id, text) in a list; data sets of Hugging Face and of
    pyarrow; an iterator of str, dict or Arrow batches (docs/howto/dataframes.md). ``text`` and ``id`` name columns
    or nested fields, ``text`` also several (docs/howto/what-is-compared.md); ``against`` is a reference set of the
    same kinds, with the same columns, unless ``against_text`` and ``against_id`` name its own. ``ignore``: paths
    of files or folders with boilerplate, such as templates, whose shingles do not count. ``decisions`` is the
    folder of a result that people have reviewed: the groups follow their decisions. ``settings``: see
    :data:`neardup.settings.FIELDS`.

    ``sets`` instead of ``documents``: sets of elements, in the forms that :func:`neardup.join` takes, ``against``
    too; the ids are the keys of a mapping, or positions. An element is a shingle, and a passage has no meaning.

    Raises SettingError for settings out of range, and for those of texts with sets; InputError for input that
    cannot be used.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> found = find([text, text + " today", "something else"], threshold=0.8)
    >>> found.pairs.select(["id_a", "id_b", "shared", "size_a", "size_b"]).to_pylist()
    [{'id_a': 0, 'id_b': 1, 'shared': 9, 'size_a': 9, 'size_b': 10}]
    >>> find(sets={"x": ["red", "blue"], "y": ["blue", "red", "red"], "z": ["grey"]}).kept
    {'x': ['red', 'blue'], 'z': ['grey']}
    """
    if (documents is None) == (sets is None):
        both = "Neither documents nor sets" if sets is None else "Both documents and sets"
        raise InputError(f"{both} given", "Documents, or sets", "Call find(texts) or find(sets=…)")
    if sets is not None:
        require_settings_of_sets({"text": text, "id": id, "ignore": ignore, **settings})
        settings["length"] = 1
    of_old = settings.pop("against_text", None), settings.pop("against_id", None)
    chosen = Settings.of(**cast(SettingKeywords, settings))
    opened: Documents
    old: Documents | None
    if sets is None:
        opened = open_documents(documents, reading=chosen.reading)
        old = None if against is None else open_documents(against, reading=chosen.reading.of_references)
    else:
        opened, old = opened_sets(sets, against, chosen)
        text = "text"
    columns = choose_columns(opened, text, id)
    reference = reference_of(old, columns, *of_old)
    base = open_base(ignore, columns, chosen.reading)
    review = None if decisions is None else read_review(decisions)
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
    ``find(documents, …).kept``. A pandas frame keeps its index. The rows of a ``query`` of a database come as a
    ``pyarrow.RecordBatchReader``. No columns are added; those of ``count`` and
    ``sources`` are in ``find(documents, …).groups``.

    Raises SettingError and InputError as ``find`` does, and InputError for names of files, whose documents
    ``neardup dedup`` writes; OutputError if more would go than ``most_removed`` allows.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> dedup([{"id": 1, "text": text}, {"id": 2, "text": text + " today"}], keep="first")
    [{'id': 1, 'text': 'the quick brown fox jumps over the lazy dog and runs far away'}]
    """
    if not settings.get("query"):  # whose rows come back as a stream
        refuse_files(documents)
    result = find(
        documents,
        text=text,
        id=id,
        against=against,
        ignore=ignore,
        decisions=decisions,
        progress=progress,
        **settings,
    )
    require_most_removed(result.run)
    kept: Any = result.kept
    return cast(Given, kept)


def open_journal(
    out: Path,
    action: str,
    settings: Settings,
    columns: Chosen,
    inputs: Mapping[str, Documents | None],
    against: Reference | None,
    decisions: Path | None,
    files: Sequence[Path] = (),
) -> RunJournal:
    """The journal of a run that writes ``out``: a new one, or that of the same run, killed earlier.

    ``files``: those that it depends on besides its inputs, such as the records of saved fingerprints.

    Raises InputError if that run had other ``inputs``, settings, columns or another version, and names the
    difference.
    """
    about = journal_facts(action, settings, columns, inputs, against)
    about["decisions"] = {} if decisions is None else _sizes_and_digests(sorted(decisions.iterdir()))
    about["file"] = _sizes_and_digests(files)
    return RunJournal(journal_of(out), about, new_secret())


def journal_facts(
    action: str,
    settings: Settings,
    columns: Chosen,
    inputs: Mapping[str, Documents | None],
    against: Reference | None = None,
) -> dict[str, Any]:
    """Everything that finished parts of a run depend on."""
    if against is not None:
        inputs = {**inputs, "against": against.documents}
    given = {name: value for name, value in settings.as_dict().items() if name != "threads"}
    return {
        "neardup_version": version("neardup"),
        "format": FORMAT_VERSION,
        "unicode": UNICODE_VERSION,
        "command": action,
        "setting": given,
        "column": {"text": columns.text, "id": columns.id, **_of_reference(against)},
        "input": {name: _files(documents) for name, documents in inputs.items() if documents is not None},
    }


def _of_reference(against: Reference | None) -> dict[str, str | None]:
    return {} if against is None else {"against_text": against.columns.text, "against_id": against.columns.id}


def _files(documents: Documents) -> dict[str, Any]:
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    refuse_stdin(sources, "--resume goes on with documents")
    if documents.format == "arrow":
        raise InputError(
            "--resume goes on with the same documents, and a query may return others",
            "Documents in files",
            "Leave out --resume, or write the rows to a file first",
        )
    seen = {without_secrets(source.path): _version_facts(source) for source in sources if source.file is None}
    files = dict.fromkeys(source.file for source in sources if source.file is not None)
    return {**seen, **_sizes_and_digests(map(Path, files))}


def _version_facts(source: Source) -> dict[str, Any]:
    """The facts that tell versions of a file at a URL apart; its content, where its server reports none."""
    if source.remote is None:
        return {"size": source.size}
    content = source.digest()
    return {**source.remote.pin.identity, **({} if content is None else {"content": content.hex()})}


def _sizes_and_digests(paths: Iterable[Path]) -> dict[str, Any]:
    """Size and digest of each whole file, whatever its time: a copied or touched file is the same one."""
    described: dict[str, Any] = {}
    for path in paths:
        try:
            state, content = os.stat(path), whole_digest(path).hex()
        except OSError as error:
            raise InputError(
                f"{printable(str(path))} cannot be identified: {error.strerror or error}",
                "With --resume, regular files",
                "Leave out --resume",
            ) from error
        described[os.path.abspath(path)] = {"size": state.st_size, "content": content}
    return described
