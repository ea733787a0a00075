"""All settings of a run as one frozen, checked ``Settings``; all mistakes are reported together."""

# ruff: noqa: RUF009  the records are frozen

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

from neardup.errors import SettingError
from neardup.measures import MEASURES, aliases
from neardup.settings.fields import Field
from neardup.settings.keeping import Keep, Relations
from neardup.settings.keywords import SettingKeywords
from neardup.settings.records import (
    COMPARISON,
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
from neardup.settings.rules import KEEP_NONE, near_miss
from neardup.settings.simhash_rules import require_none, require_search


@dataclass(frozen=True)
class TextSettings:
    """How a text becomes tokens, shingles and a signature: the settings that ``sketch`` and collections know."""

    shingles: Shingles = Shingles()
    cleaning: Cleaning = Cleaning()
    sketch: Sketch = Sketch()
    simhash: SimHashing = SimHashing()

    @property
    def by_simhash(self) -> bool:
        """Whether candidates come from SimHash fingerprints, without MinHash signatures."""
        return self.sketch.sketch == "simhash"


@dataclass(frozen=True)
class JoinSettings(TextSettings):
    """And which pairs are searched for, and how: the settings that ``join`` knows. None of them removes a row."""

    base: BaseTextSettings = BaseTextSettings()
    search: SearchSettings = SearchSettings()
    work: Work = Work()


@dataclass(frozen=True)
class Settings(JoinSettings):
    """All settings of a run. Create them with :meth:`of`, which checks the values and fills in the defaults.

    >>> Settings.of(threshold=0.9).search.threshold
    0.9
    >>> Settings.of(length=0)
    Traceback (most recent call last):
    neardup.errors.SettingError: length is 0. Allowed: a number from 1 to 64 tokens or characters.
    """

    grouping: GroupSettings = GroupSettings()
    relations: Relations = Relations()
    keep: Keep = Keep()
    reading: ReadingSettings = ReadingSettings()

    @classmethod
    def of(cls, **values: Unpack[SettingKeywords]) -> Settings:
        """Return settings with the given fields set.

        ``measure`` may be an alias (``measures.aliases``). Raises one SettingError that names all mistakes.
        """
        given: dict[str, Any] = {**values}
        refuse_mistakes(given, FIELDS)
        if "measure" in given:
            given["measure"] = aliases().get(given["measure"], given["measure"])
        parts: dict[str, dict[str, Any]] = {record: {} for record in RECORDS}
        for name, value in given.items():
            parts[FIELDS[name].record][name] = FIELDS[name].canonical(value)
        if parts["keep"].get("keep") == KEEP_NONE and parts["grouping"].get("groups") in (None, "principal"):
            parts["grouping"]["groups"] = "components"  # a document goes if any chain of pairs leads to another
        made = cls(**{record: kind(**parts[record]) for record, kind in RECORDS.items()})
        _refuse_what_does_not_go_together(made)
        return made

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, in the order of the table."""
        values = {name: getattr(getattr(self, field.record), name) for name, field in FIELDS.items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def digest(self, measure: str = "") -> str:
        """Return 16 hex digits that identify these settings; the number of threads does not count.

        ``measure`` replaces the name of the measure: an alias, under which an earlier version stored it.
        """
        import hashlib  # imported late: the help of the command line needs neither
        import json

        values = {name: value for name, value in self.as_dict().items() if FIELDS[name].record != "work"}
        values["measure"] = measure or self.search.measure
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def as_compared(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of ``compare`` among the settings of a run or a collection, by name.

    >>> as_compared({"length": 3, "threshold": 0.8, "ignore_numbers": True})
    {'length': 3, 'ignore_numbers': True}
    """
    return {name: values[name] for name in COMPARISON if name in values}


def ratio(value: float) -> tuple[int, int]:
    """Return the similarity ``value`` as (numerator, denominator) of the typed decimal: .8 is 4/5.

    >>> ratio(0.8)
    (4, 5)
    """
    exact = Fraction(repr(float(value)))
    return exact.numerator, exact.denominator


def _refuse_what_does_not_go_together(made: Settings) -> None:
    measure = MEASURES[made.search.measure]
    together = require_search if made.by_simhash else require_none
    together(made.as_dict(), {name: field.default for name, field in FIELDS.items()})
    if made.sketch.sketch == "one-permutation" and made.sketch.slots.bit_count() != 1:
        below = 1 << made.sketch.slots.bit_length() - 1
        raise SettingError(
            f"slots is {made.sketch.slots} and sketch is 'one-permutation'",
            "A power of two, since the first bits of a hash choose its slot",
            f"Choose {below} or {2 * below}, or sketch classic, which accepts any number of slots from 1 to 4,096",
        )
    if made.by_simhash and measure.of_text:
        raise SettingError(
            f"measure is {measure.name!r} and sketch is 'simhash'",
            "With sketch simhash, measures of sets; common text is not a set",
            "Choose another measure, or leave out sketch: with this measure every pair is found anyway",
        )
    if made.search.method == "lsh" and not measure.by_lsh:
        raise SettingError(
            f"method is 'lsh' and measure is {measure.name!r}",
            "With method lsh, measure resemblance: the bands find pairs only by their resemblance",
            "Choose method exact or auto for this measure",
        )
    if made.search.audit and measure.of_text:
        raise SettingError(
            f"audit is {made.search.audit} and measure is {measure.name!r}",
            "An audit of measures of sets; common text is not a set",
            "Leave out audit; with this measure every pair is found anyway",
        )
    _refuse_choices_apart(made)
    _refuse_choices_of_reference(made)
    if made.shingles.unit == "char" and measure.features == "words":
        raise SettingError(
            f"unit is 'char' and measure is {measure.name!r}", "With this measure, unit word", "Choose unit word"
        )


def _refuse_choices_apart(made: Settings) -> None:
    """Raise SettingError for choices about the documents to keep that contradict each other."""
    keep, apart = made.keep, made.relations
    none, across = keep.keep == KEEP_NONE, apart.across
    contradictions = (
        (
            none and made.grouping.groups == "complete",
            "groups is 'complete' and keep is 'none'",
            "With keep none, groups components: every document goes that a chain of pairs leads to another",
            "Leave out groups",
        ),
        (
            none and keep.only_contained > 0,
            f"only_contained is {keep.only_contained:g} and keep is 'none'",
            "With keep none, only_contained 0: no document stays that could contain another",
            "Leave out one of the two",
        ),
        (
            none and keep.lose < 1,
            f"lose is {keep.lose:g} and keep is 'none'",
            "With keep none, lose 1: all text of a family goes",
            "Leave out one of the two",
        ),
        (
            keep.empty == "one" and (none or bool(across)),
            f"empty is 'one' and {'keep is ' + repr(KEEP_NONE) if none else 'across is ' + repr(across)}",
            "Then empty keep or drop: documents without text are not compared",
            "Choose empty keep or drop",
        ),
        (
            bool(across) and across in apart.within,
            f"across and within both name {across!r}",
            "Different columns: documents cannot have both the same and different values in one",
            "Leave out one of the two",
        ),
        (
            bool(keep.sources) and not keep.count,
            f"sources is {keep.sources!r} without count",
            "sources together with count, which adds the columns",
            "Add count (--count)",
        ),
    )
    _refuse_first(contradictions)


def _refuse_choices_of_reference(made: Settings) -> None:
    """Raise SettingError for choices about a reference set that contradict others."""
    keep, apart = made.keep, made.relations
    contradictions = (
        (
            apart.no_self and bool(apart.across),
            f"no_self is given and across is {apart.across!r}",
            "One of the two: no_self already lets no two new documents be a pair",
            "Leave out across",
        ),
        (
            apart.no_self and keep.empty == "one",
            "no_self is given and empty is 'one'",
            "Then empty keep or drop: documents without text are not compared",
            "Choose empty keep or drop",
        ),
        (
            keep.held != "new-in-old" and not MEASURES[made.search.measure].directed,
            f"held is {keep.held!r} and measure is {made.search.measure!r}",
            "held with measure containment, which has a direction",
            "Choose measure containment, or leave out held",
        ),
    )
    _refuse_first(contradictions)


def _refuse_first(contradictions: Iterable[tuple[bool, str, str, str]]) -> None:
    """Raise SettingError for the first (whether it holds, given, allowed, what to do) that holds."""
    for holds, given, allowed, todo in contradictions:
        if holds:
            raise SettingError(given, allowed, todo)


def refuse_mistakes(values: Mapping[str, Any], fields: Mapping[str, Field], of: str = "") -> None:
    """Raise one SettingError that names all values and names that the ``fields`` (``of`` a thing) do not allow."""
    mistakes = [error for name, value in values.items() if (error := _mistake(name, value, fields, of))]
    if len(mistakes) > 1:
        raise SettingError("\n".join(map(str, mistakes)))
    for mistake in mistakes:
        raise mistake


def _mistake(name: str, value: Any, fields: Mapping[str, Field], of: str) -> SettingError | None:
    field = fields.get(name)
    if field is None:
        return SettingError(f"There is no setting {name!r}{of}", ", ".join(fields), near_miss(name, fields))
    if field.right_type(value) and field.rule.holds(field.rule.value(value)):
        return None
    if field.many and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]  # the command line makes a list of a single one
    return SettingError(f"{name} is {value!r}", field.rule.allowed, field.rule.hint(field.rule.value(value)))
