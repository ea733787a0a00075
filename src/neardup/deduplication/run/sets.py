"""Sets instead of texts: the pairs of one collection, or of two, and sets as the documents of a run."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.criterion import EVERYONE, Related, criterion_of, similarity_of
from neardup.deduplication.join.prefix_join import HubSearch, joined_sets, pairs_of
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.deduplication.join.weighted_join import join_weighted, rarities, weighted_similarity
from neardup.display import near_miss
from neardup.errors import InputError, SettingError
from neardup.io.inputs import ElementNumbers, NumberedSets, SetDocuments, SetElements, as_weights
from neardup.kernels.formulas import DICE, OVERLAP, SHARED
from neardup.kernels.sets import Criterion
from neardup.settings import (
    FIELDS,
    MEASURES,
    OF_JOINS,
    WEIGHTED,
    WEIGHTED_ALIASES,
    Features,
    Measure,
    Settings,
    aliases,
    ratio,
)
from neardup.tables import VERIFIED, Floats, Int64s, column
from neardup.text.sketch import ShingleSets, element_sets

_OF_TEXTS = {"text", "id", "against_text", "against_id", "ignore", "kinds", "matching", "features"} | {
    name for name, field in FIELDS.items() if field.record in ("shingles", "cleaning", "reading")
}
"""The settings, and the arguments of ``find``, that say how texts are read, or in which words they differ."""

_OF_SETS = [name for name, measure in MEASURES.items() if measure.features in ("shingles", "occurrences")]


def join(
    left: object,
    right: object | None = None,
    *,
    measure: str = "resemblance",
    threshold: float | str = 0.8,
    weights: str | Mapping[Any, float] | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    threads: int = 0,
) -> pa.Table:
    """Find the pairs of sets whose measure reaches the threshold: all of them, and no other, without groups.

    ``left`` and ``right`` are lists of sets or of lists of elements, mappings of them by id, list columns of Arrow
    or polars, or sparse matrices (docs/howto/dataframes.md). Elements are str, bytes, tuples or whole numbers from
    0, and are compared themselves, not by hash. With ``right``, pairs have one set of each; without, two of
    ``left``, the first one as ``left``. ``measure`` needs no text; ``multiset`` counts repeats. ``containment``
    is the share of the left set in the right one; without ``right``, of the smaller set. A set without elements is
    in no pair.

    ``measure="weighted-resemblance"`` (or ``weighted-jaccard``) is Σ min(a, b)/Σ max(a, b) over the weights of
    the elements, and ``weighted-cosine`` Σ a·b/(‖a‖·‖b‖). A set gives its elements weights, the values ≥ 0 of a
    mapping or a matrix, else its repeats. ``weights`` multiplies these: a mapping of elements by a number for
    each, and ``"tf-idf"`` by ln((1 + n)/(1 + df)) + 1, where df of the n sets of both collections have it: the
    smoothed weights of scikit-learn.

    ``measure="shared"`` is |A∩B|; its threshold is a whole number of elements. ``tversky`` is
    |A∩B|/(|A∩B| + ``alpha``·|A−B| + ``beta``·|B−A|), A the left set (Tversky 1977, "Features of similarity", the
    ratio model); without ``right``, the greater one of the two directions.

    Returns a table of ``left`` and ``right`` (positions from 0, int64, or ids), ``similarity`` (float64),
    ``shared``, ``size_left`` and ``size_right`` (int64: |A∩B|, |A|, |B|; with weights float64: Σ min and the sums,
    or Σ a·b and the norms), ordered by the positions. Raises InputError for anything that is no set or weight, and
    SettingError for settings out of range.

    >>> join([{"a", "b", "c"}, ["b", "c", "d"], {"e"}], threshold=0.5).to_pylist()
    [{'left': 0, 'right': 1, 'similarity': 0.5, 'shared': 2, 'size_left': 3, 'size_right': 3}]
    >>> join({"x": [1, 2]}, {"y": [1, 2, 3], "z": [4]}, measure="containment")["right"].to_pylist()
    ['y']
    >>> join([{"a": 2, "b": 1}, {"a": 1}], measure="weighted-cosine")["similarity"].to_pylist()
    [0.8944271909999159]
    >>> join([[1, 2, 3], [2, 3, 4, 5], [5]], measure="shared", threshold=2)["similarity"].to_pylist()
    [2.0]
    """
    name = _name_of(measure, weights, alpha, beta)
    named = {"left": left} if right is None else {"left": left, "right": right}
    if name in WEIGHTED:
        settings = Settings.of(threshold=threshold, threads=threads)
        sides, weighted = _weighted_sides(named, weights)
        least = ratio(settings.search.threshold)
        return _table(sides, *join_weighted(weighted, WEIGHTED[name], least, settings.work.threads))
    wanted = _wanted_of(name, threshold, alpha, beta)
    return _joined_by_counts(named, wanted, Settings.of(threads=threads).work.threads)


def similarity(
    a: object,
    b: object,
    *,
    measure: str = "resemblance",
    weights: Mapping[Any, float] | None = None,
    alpha: float | None = None,
    beta: float | None = None,
) -> float:
    """Return a measure of two sets by any measure of :func:`join`; ``containment`` of ``a`` in ``b``.

    A set is a set, a list of elements, a mapping of elements to counts or weights, or an array of whole numbers.
    Two sets without elements have 1, but share none. ``weights``, ``alpha`` and ``beta`` are as in ``join``; but
    ``"tf-idf"`` needs a collection. Raises InputError for anything that is no set or weight, and SettingError for
    settings out of range.

    >>> similarity({"a", "b", "c"}, ["b", "c", "d"]), similarity([1, 2], [1, 2, 3], measure="containment")
    (0.5, 1.0)
    >>> similarity({"a": 2.5, "b": 1}, {"a": 1.5, "c": 2}, measure="weighted-jaccard")
    0.2727272727272727
    >>> similarity([1, 2, 3, 4], [1, 2, 5], measure="tversky", alpha=1, beta=0)
    0.5
    """
    name = _name_of(measure, weights, alpha, beta)
    if isinstance(a, str | bytes) or isinstance(b, str | bytes):
        raise InputError(
            "A text is given as a set", "Sets, lists or mappings", "Compare texts with neardup.compare"
        )
    if isinstance(weights, str):
        given, allowed = f"weights is {weights!r} for two sets", "A mapping of elements to weights, or None"
        raise SettingError(given, allowed, "Join the collection whose sets tf-idf counts")
    if name in WEIGHTED:
        weighted = _weighted_sides({"a": [a], "b": [b]}, weights)[1]
        return weighted_similarity(weighted[0], weighted[1], WEIGHTED[name])
    wanted = _wanted_of(name, 1, alpha, beta)
    numbers = ElementNumbers(counted=wanted.features == "occurrences")
    sets = [NumberedSets([given], numbers, where).lists() for given, where in ((a, "a"), (b, "b"))]
    one, other = (element_sets(each, wanted.features).hashes for each in sets)
    if not len(one) and not len(other):
        return float(name != "shared")
    shared, size, second = (np.array([len(some)]) for some in (np.intersect1d(one, other), one, other))
    if wanted.model is not None:
        part, whole = wanted.model.shares(shared, size, second, 1)
        return float(part[0] / whole[0]) if shared[0] else 0.0
    return float(similarity_of(shared, size, second, wanted.criterion.measure)[0])


def _name_of(measure: str, weights: object, alpha: object, beta: object) -> str:
    """The name of a measure of sets. Raises SettingError for others, and for parameters of another measure."""
    allowed, others = (*_OF_SETS, *WEIGHTED, *OF_JOINS), {**aliases(), **WEIGHTED_ALIASES}
    name = others.get(str(measure), str(measure))
    if name not in allowed:
        near = near_miss(measure, (*allowed, *others))
        raise SettingError(f"measure is {measure!r}", f"Of sets: {', '.join(allowed)}", near)
    if weights is not None and name not in WEIGHTED:
        raise SettingError(f"weights given with measure {name!r}", f"With {' or '.join(WEIGHTED)}", "Choose one")
    if name != "tversky" and (alpha, beta) != (None, None):
        raise SettingError(f"alpha or beta given with measure {name!r}", "With measure tversky", "Leave them out")
    return name


def _joined_by_counts(named: Mapping[str, object], wanted: "_Wanted", threads: int) -> pa.Table:
    numbers = ElementNumbers(counted=wanted.features == "occurrences")
    sides = [NumberedSets(given, numbers, where) for where, given in named.items()]
    parts = [element_sets(side.lists(), wanted.features) for side in sides]
    pairs = _pairs(parts, wanted.criterion, threads)
    a, b, shared, size_a, size_b = (column(pairs, name) for name in pairs.column_names)
    similarity = similarity_of(shared, size_a, size_b, wanted.criterion.measure)
    if wanted.model is not None:
        p, q = wanted.least
        shares = [wanted.model.shares(shared, size_a, size_b, q)]
        if len(sides) == 1:  # a measure with a direction holds in either
            shares.append(wanted.model.shares(shared, size_b, size_a, q))
        enough = np.any([part * q >= p * whole for part, whole in shares], axis=0)
        similarity = np.max([part / whole for part, whole in shares], axis=0).astype(np.float64)[enough]
        a, b, shared, size_a, size_b = (values[enough] for values in (a, b, shared, size_a, size_b))
    return _table(sides, a, b if len(sides) == 1 else b - len(sides[0]), similarity, shared, size_a, size_b)


def _table(sides: Sequence[NumberedSets], a: Int64s, b: Int64s, *columns: Int64s | Floats) -> pa.Table:
    ends = {"left": sides[0].names_at(a), "right": sides[-1].names_at(b)}
    names = ("similarity", "shared", "size_left", "size_right")
    return pa.table({**ends, **dict(zip(names, columns, strict=True))})


def _weighted_sides(named: Mapping[str, object], weights: object) -> tuple[list[NumberedSets], list[SetElements]]:
    """The sets of one or two collections, by name, as read and with the weights by which they are joined."""
    numbers = ElementNumbers(counted=True)
    sides = [NumberedSets(given, numbers, where) for where, given in named.items()]
    read = [side.weighted() for side in sides]
    different, elements, sets_with = np.unique(
        np.concatenate([side.numbers for side in read]), return_inverse=True, return_counts=True
    )
    if weights is None:
        factors = np.ones(len(different))
    elif isinstance(weights, Mapping):
        factors = _weights_of(numbers.elements(different), weights)
    elif isinstance(weights, str) and weights == "tf-idf":
        factors = rarities(sets_with, sum(map(len, sides)))
    else:
        allowed = "'tf-idf', a mapping of elements to weights, or None: the weights in the sets"
        shown = repr(weights) if isinstance(weights, str) else f"a {type(weights).__name__}"
        raise SettingError(f"weights is {shown}", allowed)
    own = np.split(elements, np.cumsum([len(side.numbers) for side in read])[:-1])
    products = [
        SetElements(numbers, side.sizes, as_weights(side.weights * factors[numbers], where))
        for where, side, numbers in zip(named, read, own, strict=True)
    ]
    return sides, products


def _weights_of(elements: list[Any], weights: Mapping[Any, float]) -> Floats:
    """Return the weight (float64[n]) of each element. Raises InputError for one that has none."""
    try:
        return as_weights(np.array([weights[element] for element in elements]), "weights")
    except KeyError as error:
        given = f"weights has no weight of the element {error}"
        raise InputError(given, "A weight for each element of the sets", "Give it 0, or a defaultdict") from error


def require_settings_of_sets(given: Mapping[str, Any]) -> None:
    """Raise SettingError for settings, or arguments of ``find``, that say how a text is read."""
    wrong = sorted(name for name, value in given.items() if name in _OF_TEXTS and value is not None)
    if wrong:
        raise SettingError(
            f"{' and '.join(wrong)} given with sets",
            "Settings that do not say how texts are read: an element is a shingle",
            "Leave them out",
        )


def opened_sets(
    sets: object, against: object | None, settings: Settings
) -> tuple[SetDocuments, SetDocuments | None]:
    """Return sets, and those of a reference set, as documents. Raises InputError for anything that is no set."""
    numbers = ElementNumbers(counted=_measure_of(settings).features == "occurrences")
    named = (("sets", sets), ("against", against))
    opened, old = (None if given is None else SetDocuments(given, numbers, name) for name, given in named)
    assert opened is not None
    return opened, old


def _measure_of(settings: Settings) -> Measure:
    measure = MEASURES[settings.search.measure]
    if measure.name not in _OF_SETS:
        raise SettingError(f"measure is {measure.name!r}, which needs a text", f"Of sets: {', '.join(_OF_SETS)}")
    return measure


class _RatioModel(NamedTuple):
    """The weights of Tversky's measure, in whole numbers: of |A∩B|, of |A−B| and of |B−A|."""

    both: int
    only: int
    only_other: int

    def shares(self, shared: Int64s, size: Int64s, other: Int64s, scale: int) -> tuple[Any, Any]:
        """Return numerators and denominators, seen from sets of ``size``; ``scale`` times they fit the type."""
        largest = sum(self) * scale * int(max(size.max(initial=0), other.max(initial=0)))
        kind = np.int64 if largest < 1 << 62 else object
        both, apart, apart_other = (values.astype(kind) for values in (shared, size - shared, other - shared))
        return self.both * both, self.both * both + self.only * apart + self.only_other * apart_other


class _Wanted(NamedTuple):
    """The pairs of a join meet the ``criterion``; by a ``model`` their share is ``least``, a fraction, too."""

    criterion: Criterion
    features: Features
    model: _RatioModel | None = None
    least: tuple[int, int] = (1, 1)


def _wanted_of(measure: str, threshold: float | str, alpha: float | None, beta: float | None) -> _Wanted:
    if measure == "tversky":
        return _by_tversky(*ratio(Settings.of(threshold=threshold).search.threshold), alpha, beta)
    least = threshold if isinstance(threshold, int | float) and not isinstance(threshold, bool) else 0
    if measure == "shared":
        if not 1 <= least < 1 << 31 or least != int(least):
            allowed = "With measure shared, a whole number of elements from 1 to 2,147,483,647"
            raise SettingError(f"threshold is {threshold!r}", allowed, "Give the least number of shared elements")
        return _Wanted(Criterion(int(least), 1, SHARED), "shingles")
    if measure == "overlap" and least > 1:
        allowed = "overlap as a share of the smaller set, above 0 and at most 1"
        raise SettingError(
            f"threshold is {threshold!r}", allowed, "Choose measure shared for a number of elements"
        )
    settings = Settings.of(measure=measure, threshold=threshold)
    of_sets = _measure_of(settings)
    model = _RatioModel(1, 1, 0) if of_sets.directed else None  # containment: Tversky's measure by these
    return _Wanted(criterion_of(settings.search), of_sets.features, model, ratio(settings.search.threshold))


def _by_tversky(p: int, q: int, alpha: float | None, beta: float | None) -> _Wanted:
    """Return the pairs by Tversky's measure at p / q or above, with a criterion that all of them meet.

    With s shared elements of a and b, s / (s + α·(a − s) + β·(b − s)) ≥ t  ⇔  s ≥ x·a + y·b, with
    x = t·α / (1 − t + t·(α + β)), and y the same of β. x·a + y·b is at least min(x, y)·(a + b), so that
    2·s / (a + b) ≥ 2·min(x, y), and at least (x + y)·min(a, b), so that s / min(a, b) ≥ x + y. The first bounds
    the sizes, too: it is used where the weights are alike.
    """
    weights = []
    for name, given in (("alpha", alpha), ("beta", beta)):
        if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= 1000:
            allowed = "With measure tversky, alpha and beta: numbers from 0 to 1,000"
            raise SettingError(
                f"{name} is {given!r}", allowed, f"Give {name}, the weight of the elements of one set"
            )
        weights.append(Fraction(repr(float(given))))
    one = lcm(*(weight.denominator for weight in weights))
    t, total = Fraction(p, q), sum(weights)
    x, y = (t * weight / (1 - t + t * total) if total else Fraction(0) for weight in weights)
    by_dice = 4 * min(x, y) > x + y
    bound = int((2 * min(x, y) if by_dice else x + y) * 10**6)
    criterion = Criterion(*((bound, 10**6) if bound else (1, 1 << 31)), DICE if by_dice else OVERLAP)
    return _Wanted(criterion, "shingles", _RatioModel(one, *(int(weight * one) for weight in weights)), (p, q))


def _pairs(parts: list[ShingleSets], criterion: Criterion, threads: int) -> pa.Table:
    """The VERIFIED pairs that meet the criterion, of sets numbered over all parts; of two, one set of each."""
    sizes = np.concatenate([part.sizes for part in parts])
    total = len(sizes)
    sets = ShingleSets(np.concatenate([part.hashes for part in parts]), np.append(0, np.cumsum(sizes)))
    if not len(sets.hashes):
        return VERIFIED.empty_table()
    side, documents = np.repeat(np.arange(len(parts)), [len(part.sizes) for part in parts]), np.arange(total)
    related = EVERYONE if len(parts) == 1 else Related(across=side.astype(np.uint64))
    hubs = joined_sets(documents, total, DocumentSets(documents, sets), criterion, threads, related).hubs
    apart = None if len(parts) == 1 else hubs.across == 0
    search = HubSearch(criterion, np.zeros(total, np.bool_), np.zeros(total, np.int64), None, 0, apart)
    return pairs_of(hubs, search, threads)[0].table()
