"""The settings of a run: records of fields, the rules for their values, and all of them checked together.

The command line, the reference page, the validation and their tests are derived from ``FIELDS``.
"""

from neardup.settings.fields import Field
from neardup.settings.keeping import Keep, Relations
from neardup.settings.keywords import SettingKeywords
from neardup.settings.records import (
    CLEANING,
    FIELDS,
    RECORDS,
    BaseTextSettings,
    Cleaning,
    GroupSettings,
    ReadingSettings,
    SearchSettings,
    Shingles,
    SimHashing,
    Sketch,
    Work,
)
from neardup.settings.settings import Settings, as_compared, ratio

__all__ = [
    "CLEANING",
    "FIELDS",
    "RECORDS",
    "BaseTextSettings",
    "Cleaning",
    "Field",
    "GroupSettings",
    "Keep",
    "ReadingSettings",
    "Relations",
    "SearchSettings",
    "SettingKeywords",
    "Settings",
    "Shingles",
    "SimHashing",
    "Sketch",
    "Work",
    "as_compared",
    "ratio",
]
