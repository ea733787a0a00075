"""The options and settings that a run on Spark follows; others are refused, as the answer would be another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neardup.errors import SettingError
from neardup.group.keep import keep_columns
from neardup.measures import MEASURES
from neardup.settings import CLEANING, FIELDS, Settings

OPTIONS = frozenset(("inputs", "out", "text", "id", "against", "engine", "master", "json", "overwrite", *FIELDS))
"""The options of ``neardup dedup`` that a run on Spark follows; ``checked`` looks at the values of settings."""

_ABSENT = (
    *("within", "across", "ignore_common", "count", "sources", "kinds", "audit"),
    *("no_self", "held", "most_removed"),
    *("encoding", "delimiter", "pages"),
    *CLEANING,
)
"""Settings that only a run on one machine has."""


def checked(values: Mapping[str, Any]) -> Settings:
    """Return the settings of a run on Spark. Raises SettingError that names all that cannot be followed."""
    settings = Settings.of(**values)
    plain = Settings()
    refused = [_said(name, settings) for name in _ABSENT if _value(name, settings) != _value(name, plain)]
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


def _value(name: str, settings: Settings) -> Any:
    return getattr(getattr(settings, FIELDS[name].record), name)


def _said(name: str, settings: Settings) -> str:
    value = _value(name, settings)
    return name if isinstance(value, bool) else f"{name} {', '.join(value) if isinstance(value, tuple) else value}"
