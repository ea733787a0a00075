"""The account of a run, ``run.json``: one record that is written, read and checked.

``scripts/docs`` copies the texts below fields to docs/reference/files.md. A field with its default is left out.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from neardup.errors import SettingError
from neardup.io.sources import ChangedError
from neardup.settings import FIELDS, Settings
from neardup.text.hamming import HammingPlan, hamming_plan
from neardup.text.lsh.bands import Plan

Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Id = str | int
Action = Literal["find", "dedup", "group", "annotate"]
"""The intended use of the decisions."""


class _Record(msgspec.Struct, omit_defaults=True):
    """A part of an account."""


class UsedColumns(_Record):
    """The columns that were used."""

    text: str
    """name of the column with the text"""
    id: str | None
    """name of the column with the ids; null when documents are named by row"""


class InputCounts(_Record):
    """The documents of an input."""

    read: Count
    """documents read"""
    rejected: Count
    """rows or files in `problems.jsonl`, of the input alone"""
    empty: Count
    """documents without a token"""
    short: Count
    """documents with fewer tokens than a shingle"""
    null: Count
    """rows without a text"""
    invalid_utf8: Count
    """invalid byte sequences, each read as U+FFFD"""


class RunCounts(InputCounts):
    """The documents, pairs and groups of a run."""

    exact_copies: Count
    """documents with an earlier exact copy; documents without text do not count"""
    identical_copies: Count
    """those of them with the characters of an earlier document"""
    not_judged: Count
    """rows of `not_judged.parquet`"""
    different: Count
    """documents with a token that counts and without an earlier exact copy, those of `--against` included"""
    candidates: Count
    """pairs proposed; 0 where sets were joined exactly"""
    verified: Count
    """pairs compared exactly, including those of `closed`; 0 where sets were joined exactly"""
    capped: Count
    """pairs by a chunk measure or `lcs` with text that is too repetitive or long to match in full: `warnings`"""
    pairs: Count
    """rows of `pairs.parquet`"""
    groups: Count
    """groups"""
    near_copies: Count
    """members that are neither representative nor exact copy"""
    removed: Count
    """documents removed among those `read`; in the JSON of a dry run those to remove, here and in other keys"""
    kept: Count
    """documents kept among those `read`"""


class NotJudgedDocument(_Record):
    """A document or file that was not compared."""

    id: Id
    """id, or name of the file"""
    kind: str
    """kind"""


class NotJudgedCounts(_Record):
    """Documents and files that were not compared."""

    unit: Literal["file", "row"]
    """what is counted"""
    total: Count
    """their number"""
    kinds: dict[str, Count]
    """number of each kind"""
    removed: Count
    """number of those removed"""
    files_left_aside: Count
    """number of files that are not among the documents `read`"""
    listed: list[NotJudgedDocument]
    """the first 100: `id`, `kind`"""


class LeftOutCount(_Record):
    """The text that a rule leaves out."""

    places: Count
    documents: Count


class MaskCount(_Record):
    """The text that a mask leaves out."""

    mask: str
    places: Count
    documents: Count


class LeftOutText(_Record):
    """The text of the new input that is left out; exact copies count like other documents."""

    masks: list[MaskCount]
    """for each `mask` the `places` and the `documents` that have one"""
    numbers: LeftOutCount
    """the same for numbers"""
    stop_words: LeftOutCount
    """the same for stop words"""


class Bytes(_Record):
    """Sizes of texts."""

    text: Count
    """size of all texts"""
    removed_text: Count
    """size of those removed"""


class LostMost(_Record):
    """A removed document that loses much text."""

    id: Id
    group: Id
    shingles: Count | None
    lost_shingles: Count
    lost_units: Count | None
    lost_passage: str | None


class Lost(_Record):
    """The text that removed documents of groups take with them: the sums of the columns of `groups.parquet`."""

    removed: Count
    """documents of groups that are removed"""
    losing: Count
    """number of them that lose text"""
    unknown: Count
    """number of them for which that is unknown"""
    shingles: Count
    """shingles of those not unknown and no exact copies of kept documents"""
    lost: Count
    """the number of shingles that are lost"""
    identical: Count
    """removed documents with the same characters as their representative"""
    most: list[LostMost]
    """the ten documents that lose most, with the columns of `groups.parquet`"""
    unread: dict[str, Count] = msgspec.field(default_factory=dict)
    """removed documents by kind of [parts](formats.md#parts-that-are-not-compared) that no kept one has"""


class ChoiceAccount(_Record):
    """The choice of the search."""

    asked: str
    """the method asked for"""
    method: Literal["exact", "lsh", "simhash"]
    """the method used: `exact`, `lsh` or `simhash`"""
    why: str
    """the reason"""
    shingles: Count
    """upper bound on the number of shingles"""
    exact_memory_bytes: Count
    """upper bound on the memory of an exact join of sets"""


class Interval(_Record):
    """An estimate and its 95 % interval, which includes both ends and the estimate."""

    estimated: int | float
    low: int | float
    high: int | float


class Recall(_Record):
    """The share of the true pairs that the run finds, as planned and as predicted."""

    planned: Share | None
    """the requested recall, for a pair at the threshold; 1 with `--method exact`, like everything in this table
    except `missed`; null with `--sketch simhash`, like `predicted` and `missed`"""
    at_threshold: Share | None
    """the probability that the bands find a pair at the threshold; with `--sketch simhash` the probability that it
    is within the distance if `features` are the shingles that are counted, otherwise null"""
    predicted: Interval | None
    """the share of all true pairs that are in `pairs.parquet`, apart from those that `large_clusters` and
    `popular` leave out: `estimated`, with a 95 % interval `low` to `high`"""
    missed: Interval | None
    """the number of pairs missed: `estimated`, with a 95 % interval of whole numbers `low` to `high`"""
    at_least: bool
    """true if only one bound is stated: recall at least about `predicted`, at most about that many pairs
    `missed` (`low` 0, `high` of the recall 1): components were left out or too large, or the search had another
    threshold"""
    statement: str
    """the same in a sentence; [its meaning](../explanation/measures.md#what-the-recall-statement-means)"""


class ShareFound(_Record):
    """An estimated share with its 95 % interval; null without pairs."""

    recall: Share | None
    """estimated share that was found, with its 95 % interval `low` to `high`; null without pairs"""
    low: Share | None
    high: Share | None


class AuditedDocuments(ShareFound):
    """The drawn documents with a pair."""

    with_partners: Count
    reached: Count


class Stratum(AuditedDocuments):
    """A stratum. The interval is that of Wilson; the recall is exact if the stratum was drawn whole."""

    name: str
    documents: Count
    drawn: Count
    pairs: Count
    found: Count


class AuditAccount(ShareFound):
    """The outcome of `--audit`."""

    documents: Count
    """different documents of the new input"""
    drawn: Count
    """number of them compared with all others"""
    pairs: Count
    """pairs of the drawn documents at or above the threshold"""
    found: Count
    """those that the run found"""
    by_document: AuditedDocuments
    """`with_partners`: drawn documents that have a pair; `reached`: those with a pair that the run found; the same
    as `recall`, `low`, `high` over all documents"""
    strata: list[Stratum]
    """for each stratum, by size in thirds and whether the run found a pair (`all` for a small draw): its `name`,
    `documents`, `drawn`, `pairs`, `found`, `with_partners`, `reached`, and `recall` with its Wilson interval"""


class LargeBuckets(_Record):
    """Large buckets, joined exactly; by SimHash, fingerprints that more than 100 documents have or are near to."""

    buckets: Count
    """number of them"""
    documents: Count
    """documents in them"""
    largest: Count
    """the largest; with `--sketch simhash` the largest number of documents with one fingerprint"""


class ClosedComponents(_Record):
    """The effect of chains of pairs. One round is enough: comparing within components never joins two."""

    components: Count
    """[connected components](../explanation/measures.md#connected-components-are-closed) of three documents or
    more, or with a document of a large bucket"""
    documents: Count
    """documents in them"""
    compared: Count
    """combinations of their documents that were not candidates before"""
    found: Count
    """the number that are pairs"""
    joined: Count
    """documents joined exactly in addition to those of large buckets"""
    left_out: Count
    """documents left out, because their join would take more than `--memory`"""


class LargeCluster(_Record):
    """A group of more than 1,000 documents."""

    representative: Id
    members: Count
    pairs_left_out: Count


class Popular(_Record):
    """Other documents with more than 1,000 partners each, whose pairs with representatives alone are written."""

    documents: Count
    """their number"""
    pairs_left_out_at_least: Count
    """pairs that are not written, at least; `--pairs all` lists every pair"""
    examples: list[Id]
    """some ids"""


class Link(_Record):
    """The weakest link of a chain."""

    group: Id
    id_a: Id
    id_b: Id
    similarity: Share


class Chaining(_Record):
    """Groups that only a chain of pairs holds together."""

    groups: Count
    """their number"""
    weakest: Link | None
    """the weakest link"""
    components_would_chain: Count
    """components of the pairs that contain several groups, which `--groups components` would have merged"""


class DecisionAccount(_Record):
    """A decision of people."""

    decision: str
    ids: list[Id]
    by: str
    at: str
    action: Count


class UnappliedDecision(DecisionAccount):
    """A decision that does not apply."""

    reason: str


class Tagged(_Record):
    """The tags of a document."""

    id: Id
    tags: list[str]


class DecisionsAccount(_Record):
    """The decisions of a review that the groups follow."""

    result: str
    """folder of the reviewed result"""
    last_action: Count
    """number of its last action"""
    applied: Count
    """decisions applied"""
    unsure: Count
    """decisions without effect"""
    not_applicable: Count
    """decisions that do not apply"""
    by: dict[str, Count]
    """number of applied decisions of each person"""
    followed: list[DecisionAccount]
    """the latest 1,000 applied: `decision`, `ids`, `by`, `at`, and the number of the `action`"""
    listed: list[UnappliedDecision]
    """the first 1,000 that do not apply, also with the `reason`"""
    tagged: Count
    """number of documents with tags"""
    tags: list[Tagged]
    """1,000 of them: `id`, `tags`"""
    before: dict[str, Count] | None = None
    """after `neardup apply`, figures without them: `groups`, `near_copies`, `removed`, `kept`, `removed_text`"""


class RemovedShare(_Record):
    """The documents read and removed of a file or a source."""

    name: str | None
    read: Count
    removed: Count


class RemovedBy(_Record):
    """The documents removed, by file and by source: at most 1,000 of each, those with most documents first."""

    files: list[RemovedShare]
    """each data file of the input with its `name`, the documents `read` and `removed`; a folder is one entry"""
    sources: list[RemovedShare]
    """the same for each value of the column of `--sources`, null for documents without one"""


class Regrouped(_Record):
    """The search that found the pairs of a result made from stored ones."""

    threshold: Share
    """its threshold"""
    large_clusters: Count
    """its large clusters"""
    cluster_members: Count
    """documents in these"""
    popular: Count
    """documents that were `popular`"""


class FilesRead(_Record):
    """Facts about the files of an input."""

    roots: list[str]
    """the folders that were named, and the fixed parts of patterns"""
    left_aside: Count
    """number of files that are not input"""
    left_aside_files: list[dict[str, str | None]]
    """the first 1,000 of them, with the reason"""
    encodings: dict[str, Count]
    """number of files in each encoding other than UTF-8"""
    encoded_files: list[dict[str, str | float]]
    """the first 1,000 of them, with `how` it was found (`given`, `byte order mark`, `detected`, `not found`) and
    its `certainty` from 0 to 1"""


class KeptFile(_Record, kw_only=True):
    """A file of kept rows."""

    input: str | None = None
    file: str
    rows: Count


class KeptFiles(_Record):
    """The files of kept rows."""

    form: str
    """`one file`, `as the input`, `by size` or `by value`"""
    files: Count
    """number of files"""
    listed: list[KeptFile]
    """the first 1,000: `file`, `rows` and, as the input, the `input`; documents that are files of their own are
    counted only"""


def kept_files(written: dict[str, Any]) -> KeptFiles | None:
    """Return the record of written files; None if none were."""
    return msgspec.convert(written, KeptFiles) if written else None


class ValueCounts(_Record):
    """The documents, groups and pairs of a value."""

    value: str | None
    read: Count
    kept: Count
    removed: Count
    exact_copies: Count
    near_copies: Count
    groups: Count
    pairs: Count


class ByAccount(_Record):
    """The counts of the values of a column."""

    column: str
    """name of the column"""
    values: Count
    """number of values"""
    listed: list[ValueCounts]
    """the first 1,000, those with most documents first: `value` (null: none), `read`, `kept`, `removed`,
    `exact_copies`, `near_copies`, `groups`, `pairs`"""


class ConfigAccount(_Record):
    """The options that a command takes from a file."""

    file: str
    """name of the file"""
    options: dict[str, Any]
    """the options that were used"""


class BaseTextAccount(_Record):
    """The text that does not count."""

    inputs: list[str]
    """names of the sources of `--ignore`"""
    documents: Count
    """boilerplate texts in them"""
    shingles: Count
    """their different shingles"""
    common: Count
    """rows of `common.parquet`"""
    of_documents: Count
    """different documents counted for it, those of `--against` included"""
    shingles_before: Count
    """all shingles of all different documents, each document by itself"""
    shingles_after: Count
    """those of them that count"""
    documents_with: Count
    """different documents with a shingle that does not count"""
    base_text_only: Count
    """different documents with nothing that counts"""


class RunAccount(_Record, kw_only=True):
    """The account of a run.

    >>> from neardup import find
    >>> account = find(["a text of a few words", "another one"]).run
    >>> account.counts.read, account.settings["threshold"]
    (2, 0.8)
    """

    neardup_version: str
    """version of the program"""
    format: int
    """version of the fingerprints"""
    action: Action
    """`dedup`, `group`, `annotate` or, in Python, `find`"""
    settings: dict[str, Any]
    """every [setting](settings.md)"""
    settings_digest: str
    """16 digits that identify the settings that change results"""
    versions: dict[str, str]
    """versions of Python and the libraries, those of [formats](formats.md) and
    [tokenizers](../howto/own-formats.md#tokens-of-your-own) if they count"""
    unicode: str
    """version of the Unicode tables"""
    inputs: list[str]
    """names of the sources"""
    against: list[str]
    """names of the sources of the reference set"""
    columns: UsedColumns
    """the columns used"""
    columns_against: UsedColumns | None
    """the same of the reference set; null without one"""
    counts: RunCounts
    """numbers of documents, pairs and groups"""
    counts_against: InputCounts | None
    """those of the reference set alone; null without `--against`"""
    not_judged: NotJudgedCounts
    """documents and files that were not compared"""
    left_out: LeftOutText | None = None
    """with `--mask`, `--ignore-numbers`, `--stop-words` or a tokenizer: the text that is left out, by rule"""
    bytes: Bytes
    """sizes of texts"""
    lost: Lost
    """the text lost with removed documents"""
    choice: ChoiceAccount
    """the choice of the search"""
    plan: dict[str, Any]
    """`threshold`, `recall`, `slots`, `bands` (rows of each), `recall_at_threshold`, and the `curve`. With
    `--sketch simhash` a [HammingPlan](python.md#hamming_plan) for `documents`, `bits` and `distance`: `design` of
    the tables for random bits, `alternatives`, and the resemblance of features found: `half_found`, `curve`"""
    recall: Recall
    """the recall, planned and predicted"""
    audit: AuditAccount | None
    """null, or the result of `--audit`; [Measures](../explanation/measures.md#audit-the-missed-pairs) explains how
    pairs are counted and weighted"""
    large_buckets: LargeBuckets
    """large buckets, joined exactly; with `--sketch simhash` fingerprints that more than 100 documents have or are
    near to, and those near them"""
    decisions: DecisionsAccount | None
    """null, or with `--decisions` and after `neardup apply` the decisions of the review"""
    closed: ClosedComponents | None
    """the effect of chains of pairs; null where pairs are joined exactly. One round is enough, because comparing
    within connected components never joins two"""
    removed_by: RemovedBy | None
    """documents removed, by file and by source: at most 1,000 of each, those with most documents first; null in
    results derived from stored ones"""
    large_clusters: list[LargeCluster]
    """groups of more than 1,000 documents: `representative`, `members`. Only the pairs of members with the
    representative are in `pairs.parquet`; at most `pairs_left_out` others are not (all other pairs of members, if
    all are alike). `--pairs all` lists every pair"""
    popular: Popular
    """other documents with over 1,000 partners each, whose pairs are written only with a representative"""
    chaining: Chaining
    """groups that only a chain of pairs holds together"""
    warnings: list[str]
    """sentences: matters to check"""
    regrouped_from: Regrouped | None
    """null, or for a result made from stored pairs, about the search that found them. Then `counts`, `bytes`,
    `lost`, `recall`, `chaining` and settings are of the stricter threshold, and `large_clusters`, `popular` and
    `audit` empty; the rest describes the search"""
    notes: list[str]
    """sentences: guesses made"""
    reading: FilesRead
    """facts about the files"""
    reading_against: FilesRead | None
    """the same about those of `--against`; null without it"""
    seconds: dict[str, Seconds]
    """by stage, in the order in which they began"""
    peak_memory_bytes: Count
    """largest memory of the process, up to the writing of `run.json`, without processes that it starts"""
    kinds: dict[str, Count] | None = None
    """with `--kinds`: the pairs of each [kind](../explanation/kinds.md), and those `not determined`"""
    base_text: BaseTextAccount | None = None
    """with `--ignore` or `--ignore-common`: the text that does not count"""
    kept_files: KeptFiles | None = None
    """after `dedup`: the files of kept rows"""
    by: ByAccount | None = None
    """with `--by`: the counts of each value"""
    config: ConfigAccount | None = None
    """with [options from a file](../howto/pipes-and-config.md#settings-from-a-file): the file and its options"""

    def as_dict(self) -> dict[str, Any]:
        """Return the account as plain data: the content of ``run.json``."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class _BandPlan(_Record):
    threshold: Share
    recall: Share
    slots: Annotated[int, Meta(ge=1, le=4096)]
    bands: Annotated[tuple[Annotated[int, Meta(ge=1, le=4096)], ...], Meta(min_length=1, max_length=4096)]


class _HammingPlan(_Record):
    documents: Annotated[int, Meta(ge=1, le=10**15)]
    bits: Literal[64, 128]
    distance: Annotated[int, Meta(ge=0, le=32)]


def plan_of(run: RunAccount) -> Plan | HammingPlan:
    """Return the plan of the search of a run. Raises msgspec.ValidationError for one that cannot be."""
    if run.choice.method == "simhash":
        design = msgspec.convert(run.plan, _HammingPlan)
        return hamming_plan(design.documents, design.bits, design.distance)
    bands = msgspec.convert(run.plan, _BandPlan)
    return Plan(bands.threshold, bands.recall, bands.slots, bands.bands)


def decode_account(data: bytes) -> Any:
    """JSON as plain data. Raises ChangedError for anything else."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise _unusable_error(_first_line(error)) from error


def read_account(plain: dict[str, Any]) -> tuple[RunAccount, Settings]:
    """Return the account of a run from plain data, and its settings. Raises ChangedError for others."""
    try:
        run = msgspec.convert(plain, RunAccount)
        settings, plan = _settings(run), plan_of(run)
    except (msgspec.MsgspecError, SettingError, ValueError, OverflowError, RecursionError) as error:
        raise _unusable_error(_first_line(error)) from error
    _check_together(run, settings, plan)
    return run, settings


def _settings(run: RunAccount) -> Settings:
    given = run.settings
    if lacking := FIELDS.keys() - given.keys():
        raise _unusable_error(f"it lacks the settings {', '.join(sorted(lacking))}")
    settings = Settings.of(**given)
    if settings.digest() != run.settings_digest:
        raise _unusable_error("settings_digest is that of other settings")
    return settings


def _check_together(run: RunAccount, settings: Settings, plan: Plan | HammingPlan) -> None:
    audit, source = run.audit, run.regrouped_from
    wrong = {
        "plan": isinstance(plan, Plan) and sum(plan.bands) > plan.slots,
        "choice": (run.choice.method == "simhash") != settings.by_simhash,
        "audit": audit is not None and audit.pairs > 0 and None in (audit.recall, audit.low, audit.high),
        "regrouped_from": source is not None and source.threshold > settings.search.threshold,
        "counts": run.counts.removed > run.counts.read,
        "kinds": (run.kinds is not None) != settings.grouping.kinds,
    }
    if any(wrong.values()):
        key = next(key for key, is_wrong in wrong.items() if is_wrong)
        raise _unusable_error(f"{key} contradicts the rest")


def _unusable_error(why: str) -> ChangedError:
    return ChangedError(f"run.json cannot be used: {why}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
