"""The settings of a run: records of fields, the rules for their values, and all of them checked together.

The command line, the reference page, the validation and their tests are derived from ``FIELDS``.
"""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.settings.extensions import (
    OWN, TOKENIZERS, described_point, entry_points_of, loaded_point, tokenizer_point, tokenizer_version,
)
from neardup.settings.keywords import CollectionKeywords, SettingKeywords
from neardup.settings.measures import (
    ALWAYS, LITERAL, MEASURES, OF_JOINS, WEIGHTED, WEIGHTED_ALIASES, CountedAs, Features, Measure, aliases, values,
)
from neardup.settings.records import (
    CHUNK, CLEANING, COLLECTION_FIELDS, COMPARISON, FIELDS, IN_SKETCH, OPTION_FIELDS, PROCESS, RECORDS, SELECTION,
    BaseTextSettings, Cleaning, GroupSettings, Keep, ReadingSettings, Relations, SampleSettings, SearchSettings,
    Shingles, SimHashing, Sketch, Work, join_bytes_of, names_of, sketch_settings, sketch_text,
)
from neardup.settings.rules import (
    ACCESS, COMPARED, EARLIER, INPUT, KEEP_COLUMN, KEEP_NONE, LONGEST_FEATURE, NO_LIMIT, OTHER, OUTPUT, PANELS,
    SEARCH, WIDTHS, WIDTHS_ALLOWED, WORK, Field, check, features_of, as_tuple, memory_size, order_of,
    KEEP_DIGITAL, required_share, share_of,
)
from neardup.settings.settings import (
    JoinSettings, Settings, TextSettings, as_compared, ratio, refuse_mistakes,
)
from neardup.settings.stop_words import chosen, is_choice, is_language, language_or_count, stop_words_of
