"""All settings of a run as one frozen, checked ``Settings``; all mistakes are reported together."""

# ruff: noqa: RUF009  the records are frozen

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack

from neardup.display import near_miss
from neardup.display.view import PlainData
from neardup.errors import SettingError, UnknownKeywordError
from neardup.settings import records
from neardup.settings.keywords import SettingKeywords
from neardup.settings.measures import MEASURES, aliases
from neardup.settings.rules import KEEP_NONE, Field, check

_NOT_BY_SIMHASH = ("slots", "recall")
"""Settings without meaning for a search by SimHash."""

_EMPTY_APART = "Then empty keep or drop: documents without text are not compared", "Choose empty keep or drop"


@dataclass(frozen=True)
class TextSettings(PlainData):
    """How a text becomes tokens, shingles and a signature: the settings that ``sketch`` and collections know."""

    shingles: records.Shingles = records.Shingles()
    cleaning: records.Cleaning = records.Cleaning()
    sketch: records.Sketch = records.Sketch()
    simhash: records.SimHashing = records.SimHashing()

    @property
    def by_simhash(self) -> bool:
        """Whether candidates come from SimHash fingerprints, without MinHash signatures."""
        return self.sketch.sketch == "simhash"


@dataclass(frozen=True)
class JoinSettings(TextSettings):
    """And which pairs are searched for, and how: the settings that ``join`` knows. None of them removes a row."""

    base: records.BaseTextSettings = records.BaseTextSettings()
    search: records.SearchSettings = records.SearchSettings()
    work: records.Work = records.Work()


@dataclass(frozen=True)
class Settings(JoinSettings):
    """All settings of a run. Create them with :meth:`of`, which checks the values and fills in the defaults.

    >>> Settings.of(threshold=0.9).search.threshold
    0.9
    >>> Settings.of(length=0)
    Traceback (most recent call last):
    neardup.errors.SettingError: length is 0. Allowed: a number from 1 to 64 tokens or characters.
    """

    grouping: records.GroupSettings = records.GroupSettings()
    relations: records.Relations = records.Relations()
    keep: records.Keep = records.Keep()
    reading: records.ReadingSettings = records.ReadingSettings()

    @classmethod
    def of(cls, **values: Unpack[SettingKeywords]) -> "Settings":
        """Return settings with the given fields set.

        ``measure`` may be an alias (``measures.aliases``). Raises one SettingError that names all mistakes.
        """
        given: dict[str, Any] = {**values}
        refuse_mistakes(given, records.FIELDS)
        if "measure" in given:
            given["measure"] = aliases().get(given["measure"], given["measure"])
        parts: dict[str, dict[str, Any]] = {record: {} for record in records.RECORDS}
        for name, value in given.items():
            parts[records.FIELDS[name].record][name] = records.FIELDS[name].canonical(value)
        if parts["keep"].get("keep") == KEEP_NONE and parts["grouping"].get("groups") in (None, "principal"):
            parts["grouping"]["groups"] = "components"  # a document goes if any chain of pairs leads to another
        chosen = cls(**{record: kind(**parts[record]) for record, kind in records.RECORDS.items()})
        _refuse_contradictions(chosen)
        return chosen

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, in the order of the table."""
        values = {name: getattr(getattr(self, field.record), name) for name, field in records.FIELDS.items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def digest(self) -> str:
        """Return 16 hex digits that identify these settings; the number of threads does not count."""
        import hashlib  # imported late: the help of the command line needs neither
        import json

        values = {name: value for name, value in self.as_dict().items() if records.FIELDS[name].record != "work"}
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def as_compared(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of ``compare`` among the settings of a run or a collection, by name.

    >>> as_compared({"length": 3, "threshold": 0.8, "ignore_numbers": True})
    {'length': 3, 'ignore_numbers': True}
    """
    return {name: values[name] for name in records.COMPARISON if name in values}


def ratio(value: float) -> tuple[int, int]:
    """Return the similarity ``value`` as (numerator, denominator) of the typed decimal: .8 is 4/5.

    >>> ratio(0.8)
    (4, 5)
    """
    exact = Fraction(repr(float(value)))
    return exact.numerator, exact.denominator


_Contradiction = tuple[bool, str, str, str]
"""Whether it is there, the given and the allowed values, and the remedy."""


def _refuse_contradictions(chosen: Settings) -> None:
    """Raise SettingError for the first choices that exclude each other."""
    if chosen.by_simhash:
        check(chosen.simhash.bits, chosen.simhash.distance)
    for there, given, allowed, todo in (*_of_search(chosen), *_of_keep(chosen), *_of_reference(chosen)):
        if there:
            raise SettingError(given, allowed, todo)


def _of_search(chosen: Settings) -> Iterator[_Contradiction]:
    """Choices about the search, its sketch and its measure."""
    measure, sketch, search, simhash = (
        MEASURES[chosen.search.measure],
        chosen.sketch,
        chosen.search,
        chosen.by_simhash,
    )
    given = f"sketch is {sketch.sketch!r}"
    yield (
        simhash and search.method != "auto",
        f"method is {search.method!r} and {given}",
        "With sketch simhash, method auto: the candidates are all pairs within the distance",
        "Leave out method, or leave out sketch",
    )
    values = chosen.as_dict()
    for name in _NOT_BY_SIMHASH if simhash else records.names_of(records.SimHashing):
        other = values[name] != records.FIELDS[name].default
        what = f"{name} is {values[name]!r} and {given}"
        if simhash:
            allowed = "With sketch simhash, neither slots nor recall: the distance alone decides"
            yield other, what, allowed, f"Leave out {name}; audit measures the recall"
        else:
            allowed = f"{', '.join(records.names_of(records.SimHashing))} only with sketch simhash"
            yield other, what, allowed, f"Choose sketch simhash, or leave out {name}"
    below = 1 << sketch.slots.bit_length() - 1
    yield (
        sketch.sketch == "one-permutation" and sketch.slots != below,
        f"slots is {sketch.slots} and {given}",
        "A power of two, since the first bits of a hash choose its slot",
        f"Choose {below} or {2 * below}, or sketch classic, which accepts any number of slots from 1 to 4,096",
    )
    yield (
        simhash and measure.of_text,
        f"measure is {measure.name!r} and {given}",
        "With sketch simhash, measures of sets; common text is not a set",
        "Choose another measure, or leave out sketch: with this measure every pair is found anyway",
    )
    yield (
        search.method == "lsh" and not measure.by_lsh,
        f"method is 'lsh' and measure is {measure.name!r}",
        "With method lsh, measure resemblance: the bands find pairs only by their resemblance",
        "Choose method exact or auto for this measure",
    )
    yield (
        search.audit > 0 and measure.of_text,
        f"audit is {search.audit} and measure is {measure.name!r}",
        "An audit of measures of sets; common text is not a set",
        "Leave out audit; with this measure every pair is found anyway",
    )
    yield (
        chosen.shingles.unit == "char" and measure.features == "words",
        f"unit is 'char' and measure is {measure.name!r}",
        "With this measure, unit word",
        "Choose unit word",
    )


def _of_keep(chosen: Settings) -> Iterator[_Contradiction]:
    """Choices about the documents to keep."""
    keep, across = chosen.keep, chosen.relations.across
    none = keep.keep == KEEP_NONE
    yield (
        none and chosen.grouping.groups == "complete",
        "groups is 'complete' and keep is 'none'",
        "With keep none, groups components: every document goes that a chain of pairs leads to another",
        "Leave out groups",
    )
    yield (
        none and keep.only_contained > 0,
        f"only_contained is {keep.only_contained:g} and keep is 'none'",
        "With keep none, only_contained 0: no document is kept that could contain another",
        "Leave out one of the two",
    )
    yield (
        none and keep.lose < 1,
        f"lose is {keep.lose:g} and keep is 'none'",
        "With keep none, lose 1: all text of a connected component goes",
        "Leave out one of the two",
    )
    yield (
        keep.empty == "one" and (none or bool(across)),
        f"empty is 'one' and {'keep is ' + repr(KEEP_NONE) if none else 'across is ' + repr(across)}",
        *_EMPTY_APART,
    )
    yield (
        bool(across) and across in chosen.relations.within,
        f"across and within both name {across!r}",
        "Different columns: documents cannot have both the same and different values in one",
        "Leave out one of the two",
    )
    yield (
        bool(keep.sources) and not keep.count,
        f"sources is {keep.sources!r} without count",
        "sources together with count, which adds the columns",
        "Add count (--count)",
    )


def _of_reference(chosen: Settings) -> Iterator[_Contradiction]:
    """Choices about a reference set."""
    keep, relations, measure = chosen.keep, chosen.relations, chosen.search.measure
    yield (
        relations.no_self and bool(relations.across),
        f"no_self is given and across is {relations.across!r}",
        "One of the two: no_self already lets no two new documents be a pair",
        "Leave out across",
    )
    yield relations.no_self and keep.empty == "one", "no_self is given and empty is 'one'", *_EMPTY_APART
    yield (
        keep.direction != "new-in-old" and not MEASURES[measure].directed,
        f"direction is {keep.direction!r} and measure is {measure!r}",
        "direction with measure containment, which has one",
        "Choose measure containment, or leave out direction",
    )


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
        return UnknownKeywordError(f"There is no setting {name!r}{of}", ", ".join(fields), near_miss(name, fields))
    if field.right_type(value) and field.rule.holds(field.rule.value(value)):
        return None
    if field.many and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]  # the command line makes a list of a single one
    return SettingError(f"{name} is {value!r}", field.rule.allowed, field.rule.hint(field.rule.value(value)))
