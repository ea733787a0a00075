"""The fields that every reader of ``run.json`` relies on: types and ranges, checked before anything is used."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from neardup.errors import SettingError
from neardup.io.readers.manifest import ChangedError
from neardup.settings import FIELDS, Settings

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Id = str | int


class _Decision(TypedDict):
    decision: str
    ids: list[Id]
    by: str
    at: str


class _Unapplied(_Decision):
    reason: str


class _Tagged(TypedDict):
    id: Id
    tags: list[str]


class _Decided(TypedDict):
    result: str
    last_action: Count
    applied: Count
    unsure: Count
    not_applicable: Count
    by: dict[str, Count]
    followed: list[_Decision]
    listed: list[_Unapplied]
    tagged: Count
    tags: list[_Tagged]


class _Counts(TypedDict):
    read: Count
    rejected: Count
    empty: Count
    short: Count
    null: Count
    not_judged: Count
    invalid_utf8: Count
    exact_copies: Count
    different: Count
    candidates: Count
    verified: Count
    capped: NotRequired[Count]
    pairs: Count
    groups: Count
    near_copies: Count
    removed: Count
    kept: Count


class _NotJudged(TypedDict):
    unit: Literal["file", "row"]
    total: Count
    kinds: dict[str, Count]
    removed: Count
    files_left_aside: Count


class _Bytes(TypedDict):
    text: Count
    removed_text: Count


class _LostMost(TypedDict):
    id: Id
    shingles: Count
    lost_shingles: Count
    lost_passage: str | None


class _Lost(TypedDict):
    removed: Count
    losing: Count
    unknown: Count
    shingles: Count
    lost: Count
    most: list[_LostMost]


class _Choice(TypedDict):
    method: Literal["exact", "lsh", "simhash"]
    why: str


class _Plan(TypedDict):
    threshold: Share
    recall: Share
    slots: Rows
    bands: Annotated[list[Rows], msgspec.Meta(min_length=1, max_length=4096)]


class _HammingPlan(TypedDict):
    documents: Annotated[int, msgspec.Meta(ge=1, le=10**15)]
    bits: Literal[64, 128]
    distance: Annotated[int, msgspec.Meta(ge=0, le=32)]


class _Recall(TypedDict):
    statement: str


class _Audit(TypedDict):
    documents: Count
    drawn: Count
    pairs: Count
    found: Count
    recall: Share | None
    low: Share | None
    high: Share | None


class _Crowd(TypedDict):
    representative: Id
    members: Count
    pairs_left_out: Count


class _Popular(TypedDict):
    documents: Count


class _Weakest(TypedDict):
    id_a: Id
    id_b: Id
    similarity: Share


class _Chaining(TypedDict):
    groups: Count
    weakest: _Weakest | None


class _Regrouped(TypedDict):
    threshold: Share
    crowds: Count
    crowd_members: Count
    popular: Count


class _Run(TypedDict):
    neardup_version: str
    format: int
    action: Literal["find", "dedup", "group", "annotate"]
    settings: dict[str, str | int | float | bool | list[str]]
    settings_digest: str
    counts: _Counts
    not_judged: _NotJudged
    bytes: _Bytes
    lost: _Lost
    choice: _Choice
    plan: dict[str, Any]
    recall: _Recall
    audit: _Audit | None
    crowds: list[_Crowd]
    popular: _Popular
    chaining: _Chaining
    decisions: NotRequired[_Decided | None]
    kinds: NotRequired[dict[str, Count]]
    regrouped_from: _Regrouped | None
    warnings: list[str]
    notes: list[str]
    seconds: dict[str, Seconds]
    peak_memory_bytes: Count


_OPTIONAL = frozenset({"decisions", "kinds"})


def decoded(data: bytes) -> Any:
    """JSON as plain data. Raises ChangedError for anything else."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise ChangedError(f"run.json cannot be used: {_said(error)}") from error


def check_run(run: dict[str, Any]) -> Settings:
    """Return the settings of a run if everything in its account can be used. Raises ChangedError otherwise.

    A measure under an earlier name gets its present one in ``run``.
    """
    lacking = [key for key in _Run.__annotations__ if key not in run and key not in _OPTIONAL]
    if lacking:
        raise ChangedError(f"run.json cannot be used: it lacks {', '.join(lacking)}")
    try:
        msgspec.convert(run, _Run)
        simhash = run["choice"]["method"] == "simhash"
        msgspec.convert(run["plan"], _HammingPlan if simhash else _Plan)
        settings = _settings(run)
    except (msgspec.MsgspecError, SettingError, ValueError, OverflowError, RecursionError) as error:
        raise ChangedError(f"run.json cannot be used: {_said(error)}") from error
    _check_together(run, settings)
    run["settings"]["measure"], run["settings_digest"] = settings.search.measure, settings.digest()
    return settings


def _settings(run: dict[str, Any]) -> Settings:
    asked = run["settings"]
    if lacking := FIELDS.keys() - asked.keys():
        raise ChangedError(f"run.json cannot be used: it lacks the settings {', '.join(sorted(lacking))}")
    settings = Settings.of(**asked)
    if settings.digest(measure=asked["measure"]) != run["settings_digest"]:
        raise ChangedError("run.json cannot be used: settings_digest is that of other settings")
    return settings


def _check_together(run: dict[str, Any], settings: Settings) -> None:
    audit, plan, source = run["audit"], run["plan"], run["regrouped_from"]
    wrong = {
        "plan": "bands" in plan and sum(plan["bands"]) > plan["slots"],
        "choice": (run["choice"]["method"] == "simhash") != settings.by_simhash,
        "audit": audit is not None
        and audit["pairs"] > 0
        and None in (audit[k] for k in ("recall", "low", "high")),
        "regrouped_from": source is not None and source["threshold"] > settings.search.threshold,
        "counts": run["counts"]["removed"] > run["counts"]["read"],
        "kinds": ("kinds" in run) != settings.grouping.kinds,
    }
    if any(wrong.values()):
        key = next(key for key, is_wrong in wrong.items() if is_wrong)
        raise ChangedError(f"run.json cannot be used: {key} contradicts the rest")


def _said(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
