"""The settings of a run: records of fields, the rules for their values, and all of them checked together.

The command line, the reference page, the validation and their tests are derived from ``FIELDS``.
"""

from neardup.settings.keywords import CollectionKeywords, SettingKeywords
from neardup.settings.records import (
    CLEANING,
    COLLECTION_FIELDS,
    COMPARISON,
    FIELDS,
    RECORDS,
    SELECTION,
    BaseTextSettings,
    Cleaning,
    GroupSettings,
    Keep,
    ReadingSettings,
    Relations,
    SampleSettings,
    SearchSettings,
    Shingles,
    SimHashing,
    Sketch,
    Work,
    names_of,
)
from neardup.settings.rules import Field
from neardup.settings.settings import JoinSettings, Settings, TextSettings, as_compared, ratio, refuse_mistakes

__all__ = [
    "CLEANING",
    "COLLECTION_FIELDS",
    "COMPARISON",
    "FIELDS",
    "RECORDS",
    "SELECTION",
    "BaseTextSettings",
    "Cleaning",
    "CollectionKeywords",
    "Field",
    "GroupSettings",
    "JoinSettings",
    "Keep",
    "ReadingSettings",
    "Relations",
    "SampleSettings",
    "SearchSettings",
    "SettingKeywords",
    "Settings",
    "Shingles",
    "SimHashing",
    "Sketch",
    "TextSettings",
    "Work",
    "as_compared",
    "names_of",
    "ratio",
    "refuse_mistakes",
]
