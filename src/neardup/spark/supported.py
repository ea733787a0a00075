"""The options and settings that a run on Spark follows; others are refused, as the answer would be another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neardup.errors import SettingError
from neardup.group.rows import keep_columns
from neardup.measures import MEASURES
from neardup.settings import FIELDS, Settings, Shingles, SimHashing, Sketch, Work, names_of

OPTIONS = frozenset(("inputs", "out", "text", "id", "against", "engine", "master", "json", "overwrite", *FIELDS))
"""The options of ``neardup dedup`` that a run on Spark follows; ``checked`` looks at the values of settings."""

_FOLLOWED = frozenset(
    (
        *names_of(Shingles, Sketch, SimHashing, Work),
        *("method", "measure", "matching", "threshold", "recall", "memory"),
        *("groups", "pairs", "keep", "only_contained", "lose", "empty"),
    )
)
"""The settings that a run on Spark follows; it refuses all others."""


def checked(values: Mapping[str, Any]) -> Settings:
    """Return the settings of a run on Spark. Raises SettingError that names all that cannot be followed."""
    settings = Settings.of(**values)
    given, usual = settings.as_dict(), Settings().as_dict()
    refused = [_said(name, given[name]) for name in FIELDS if name not in _FOLLOWED and given[name] != usual[name]]
    if settings.by_simhash:
        refused.append("sketch simhash")
    measure = settings.search.measure
    if not MEASURES[measure].of_shingles:
        refused.append(f"measure {measure}")
    if keep_columns(settings.keep.keep):
        refused.append("keep by a column")
    if refused:
        raise SettingError(
            f"A run on Spark does not have: {', '.join(refused)}",
            "Resemblance, containment or overlap, by LSH or exactly; keep longest, first, last or none",
            "Leave them out, or run on one machine (neardup.find, or the command without --engine)",
        )
    return settings


def _said(name: str, value: Any) -> str:
    return name if isinstance(value, bool) else f"{name} {', '.join(value) if isinstance(value, list) else value}"
