"""Sets of the caller: lists of sets or of lists, arrays, list columns, rows of a sparse matrix.

Equal elements have equal numbers in all collections that are read together, and no others have. Whole numbers are
their own numbers; other elements are numbered as they come. So no collision of hashes makes two elements one.
As documents, sets are texts with a word for each element.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain, compress
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.errors import InputError
from neardup.io.readers.arrow import chosen, is_text, kind_of
from neardup.io.readers.memory import ArrowRows, HeldDocuments
from neardup.tables import Bools, Floats, Int64s, UInt64s, distinct, one_array

_END = "\0"
_PLAIN = re.compile("[0-9a-z]+")
"""Such a str is one word in its compared form, and no other str is that word."""

_RANK_BITS, _RANK_MASK = np.uint64(32), np.uint64((1 << 32) - 1)
"""A set has below 2³² different words, and a collection below 2³² sets."""

MOST_COUNTED = 1 << 24
"""A count of an element is below this."""

LEAST, MOST = 1e-50, 1e50
"""A weight above 0 is in this range, so that sums of products of four are float64, too."""

_KINDS = ((str, "str"), (bytes, "bytes"), ((int, np.integer), "whole numbers"), (tuple, "tuples"))
_ELEMENTS = "Elements of one type: str, bytes, tuples, or whole numbers from 0 to 2⁶⁴ − 1"
_COUNTS = f"Whole numbers from 0 to {MOST_COUNTED - 1:,}"
_SETS = "A list of sets or lists, a mapping of them by id, a list column of Arrow or polars, or a sparse matrix"


class SetElements(NamedTuple):
    """The numbers of the elements of all sets, one set after the other; the given ``weights``, or None: 1 each."""

    numbers: Any  # uint64[n], or int64[n]
    sizes: Int64s
    weights: Any = None


class ElementNumbers:
    """The numbers of elements, for collections that are read together.

    With ``counted``, an element may be several times in a set, and the numbers count up from 0.
    """

    def __init__(self, *, counted: bool = False) -> None:
        self.counted = counted
        self._kind: str | None = None
        self._texts: pa.Array | None = None  # all str, or all bytes, by their number
        self._numbers: dict[Any, int] = {}  # others

    def elements(self, numbers: UInt64s) -> list[Any]:
        """Return the elements that have these numbers."""
        if self._texts is not None:
            elements: list[Any] = self._texts.take(pa.array(numbers)).to_pylist()
            return elements
        given = list(self._numbers)  # of numbers of their own none
        return [given[number] if given else number for number in numbers.tolist()]

    def words(self, numbers: UInt64s) -> pa.Array:
        """Return a word (large_string) for each of these numbers, by its element alone: the same in each run.

        Of a whole number these are its digits. A str of Latin letters in lower case and digits is its own word;
        of others it has such letters and digits, and 96 bits of a hash.

        >>> elements = ElementNumbers()
        >>> elements.words(elements.of(["red", "Dark red"], np.array([2]), "sets")).to_pylist()
        ['red', 'darkred_8c7c374fea37d5f602d1c0e1']
        """
        if self._texts is not None and pt.is_large_string(self._texts.type):
            words = self._texts.take(pa.array(numbers))
            plain = pc.match_substring_regex(words, rf"\A{_PLAIN.pattern}\z")
            others = [_word(element) for element in words.filter(pc.invert(plain)).to_pylist()]
            return pc.replace_with_mask(words, pc.invert(plain), pa.array(others, words.type))
        return pa.array([*map(_word, self.elements(numbers))], pa.large_string())

    def compact(self, numbers: UInt64s) -> tuple[UInt64s, Int64s]:
        """Return the different ``numbers``, and the place of each number among them."""
        known = len(self._numbers) if self._texts is None else len(self._texts)
        if not known:
            different, places = np.unique(numbers, return_inverse=True)
            return different, places
        return np.arange(known, dtype=np.uint64), numbers.astype(np.int64)

    def require(self, kind: str, where: str) -> None:
        """Raise InputError if elements read before are of another ``kind``."""
        self._kind = self._kind or kind
        if kind != self._kind:
            raise InputError(f"{where} holds {kind}, after {self._kind}", _ELEMENTS, "Convert one of them")

    def of(self, values: list[Any], sizes: Int64s, where: str) -> UInt64s:
        """Return the numbers (uint64) of the values of sets of these ``sizes``."""
        if (encoded := _as_dictionary(values)) is not None:
            self.require("str", where)
            return self._of_encoded(encoded)
        kinds = {type_: _kind(type_) for type_ in set(map(type, values))}
        if None in kinds.values():
            place = next(place for place, value in enumerate(values) if kinds[type(value)] is None)
            raise _element_error(values[place], sizes, place, where)
        for kind in sorted({str(kind) for kind in kinds.values()}):
            self.require(kind, where)
        if "whole numbers" not in kinds.values():
            # tuples, and str with lone surrogates, are in no array
            if self._kind != "bytes":
                return self._in_order(values)
            return self.of_arrow(pa.array(values, pa.large_binary()), where)
        for place, value in enumerate(values):
            if not 0 <= value < 1 << 64:
                raise _element_error(value, sizes, place, where)
        return self.of_array(np.fromiter(map(int, values), np.uint64, len(values)), where)

    def of_array(self, values: Any, where: str) -> UInt64s:
        """Return the numbers of an array of whole numbers."""
        self.require("whole numbers", where)
        if values.dtype.kind == "i" and len(values) and values.min() < 0:
            raise InputError(f"{where} holds {values.min()}", _ELEMENTS, "View signed hashes as uint64")
        numbers: UInt64s = values.astype(np.uint64)
        if not self.counted:
            return numbers
        different, places = np.unique(values, return_inverse=True)
        return self._in_order(different.tolist())[places]

    def of_arrow(self, values: pa.Array, where: str) -> UInt64s:
        """Return the numbers of the values of lists."""
        if pt.is_dictionary(values.type):
            values = values.dictionary_decode()
        if values.null_count:
            raise InputError(f"{where} holds a null in a list", _ELEMENTS, "Drop the nulls")
        if not len(values):
            return np.empty(0, np.uint64)
        if is_text(values.type):
            is_bytes = (
                pt.is_binary(values.type) or pt.is_large_binary(values.type) or pt.is_binary_view(values.type)
            )
            self.require("bytes" if is_bytes else "str", where)
            large = pa.large_binary() if is_bytes else pa.large_string()
            if pt.is_binary_view(values.type) or pt.is_string_view(values.type):
                values = values.cast(large)
            encoded = values.dictionary_encode()
            dictionary = encoded.dictionary.cast(large)
            return self._of_encoded(pa.DictionaryArray.from_arrays(encoded.indices, dictionary))
        if kind_of(values.type) != "integer":
            raise InputError(f"{where} has lists of {values.type}", _ELEMENTS, "Convert the values")
        return self.of_array(values.to_numpy(zero_copy_only=False), where)

    def _of_encoded(self, encoded: pa.DictionaryArray) -> UInt64s:
        """Return the numbers of str, or bytes: of the first collection their places in the dictionary."""
        places: UInt64s = encoded.indices.to_numpy().astype(np.uint64)
        if self._texts is None and not self._numbers:
            self._texts = encoded.dictionary
            return places
        return self._of_different(encoded.dictionary)[places]

    def _of_different(self, texts: pa.Array) -> UInt64s:
        if self._texts is None:
            return self._in_order(texts.to_pylist())
        places = pc.index_in(texts, value_set=self._texts)
        new = places.is_null()
        numbers: UInt64s = places.fill_null(0).to_numpy().astype(np.uint64)
        is_new = new.to_numpy(zero_copy_only=False)
        numbers[is_new] = len(self._texts) + np.arange(np.count_nonzero(is_new), dtype=np.uint64)
        self._texts = pa.concat_arrays([self._texts, texts.filter(new)])
        return numbers

    def _in_order(self, values: list[Any]) -> UInt64s:
        if self._texts is not None:  # from now on in one dict
            self._numbers = {text: number for number, text in enumerate(self._texts.to_pylist())}
            self._texts = None
        numbers = self._numbers
        try:
            for value in dict.fromkeys(values):
                numbers.setdefault(value, len(numbers))
        except TypeError as error:
            raise InputError(
                f"A tuple cannot be an element: {error}", _ELEMENTS, "Make its parts plain"
            ) from error
        return np.fromiter(map(numbers.__getitem__, values), np.uint64, len(values))


class NumberedSets:
    """Sets of the numbers of elements; ``len`` is the number of sets.

    ``names`` (None: positions) are the keys of a mapping of sets. ``given`` are the sets of the caller, and
    ``where`` is their name in messages.
    """

    def __init__(self, given: Any, numbers: ElementNumbers, where: str) -> None:
        self._read = _elements_of(given, numbers, where)
        self._counted, self._where = numbers.counted, where
        self.names = _ids(list(given), where) if isinstance(given, Mapping) else None

    def __len__(self) -> int:
        return len(self._read.sizes)

    def names_at(self, places: Int64s) -> pa.Array:
        """Return the names of the sets at these places, or the places."""
        return pa.array(places) if self.names is None else self.names.take(pa.array(places))

    def lists(self) -> pa.Array:
        """Return the sets, large_list<uint64>, with repeats as counted. Raises InputError for weights."""
        elements, sizes, weights = self._read
        if weights is not None:
            counts = _whole_counts(weights, self._where)
            if not self._counted and len(counts) and counts.max() > 1:
                raise InputError(
                    f"{self._where} counts an element {counts.max()} times",
                    "Without counts, 0 or 1",
                    "Choose measure multiset, which counts repeats",
                )
            owner = np.repeat(np.arange(len(sizes)), sizes)
            elements, sizes = np.repeat(elements, counts), np.bincount(owner, counts, len(sizes)).astype(np.int64)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(elements))

    def weighted(self) -> SetElements:
        """Return each element once, in order, with its weight: the sum of those given, or of 1 for each repeat.

        Elements of weight 0 are left out. Raises InputError for a weight that is neither 0 nor from LEAST to MOST.
        """
        numbers, sizes, given = self._read
        weights = np.ones(len(numbers)) if given is None else as_weights(given, self._where)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((numbers, owner))
        order = order[weights[order] > 0]
        owner, numbers = owner[order], numbers[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (owner[1:] != owner[:-1]) | (numbers[1:] != numbers[:-1])
        total = np.bincount(np.cumsum(new) - 1, weights[order])
        return SetElements(numbers[new], np.bincount(owner[new], minlength=len(sizes)), total)


class SetDocuments(HeldDocuments):
    """Sets of the caller as documents: ``text`` has a word for each element, ``id`` the keys of a mapping.

    Words are in one order and, unless repeats are counted, each once, so that equal sets are equal texts. That
    order is not one of the caller, so there are no passages in them.
    """

    def __init__(self, given: Any, numbers: ElementNumbers, where: str) -> None:
        own = list(given) if isinstance(given, Iterator) else given
        sets = NumberedSets(own, numbers, where)
        columns = {"text": _texts(sets.lists(), numbers)}
        if sets.names is not None:
            columns["id"] = sets.names
        super().__init__(ArrowRows(pa.table(columns), lambda stays: _sets_that_stay(own, stays)))


def _sets_that_stay(given: Any, stays: Bools) -> Any:
    """The sets that stay: a list, or an object of the type that was given."""
    if isinstance(given, Mapping):
        return dict(compress(given.items(), stays.tolist()))
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return chosen(given, stays)
    if hasattr(given, "__arrow_c_stream__"):
        series: nw.Series[Any] = nw.from_native(given, series_only=True)
        return series[np.flatnonzero(stays)].to_native()
    if hasattr(given, "tocsr") or isinstance(given, np.ndarray):
        return given[np.flatnonzero(stays)]
    left = compress(given, stays.tolist())
    return tuple(left) if isinstance(given, tuple) else list(left)


def _texts(lists: pa.Array, numbers: ElementNumbers) -> pa.Array:
    offsets: Int64s = lists.offsets.to_numpy()
    different, element = numbers.compact(lists.values.to_numpy())
    words = numbers.words(different)
    order = pc.sort_indices(words)
    rank = np.empty(len(words), np.uint64)
    rank[order.to_numpy()] = np.arange(len(words), dtype=np.uint64)
    # a set and a rank in one number, so that one sort puts the words of each set in order
    keys = rank[element] | np.repeat(np.arange(len(lists), dtype=np.uint64) << _RANK_BITS, np.diff(offsets))
    keys = np.sort(keys) if numbers.counted else distinct(keys)
    ends = np.searchsorted(keys, np.arange(len(lists) + 1, dtype=np.uint64) << _RANK_BITS)
    spaced = pc.binary_join_element_wise(words.take(order), *(pa.scalar(end, words.type) for end in (" ", "")))
    _, at, content = spaced.take(pa.array(keys & _RANK_MASK)).buffers()
    begins = np.frombuffer(at, np.int64)[ends] if len(keys) else ends
    texts = pa.LargeStringArray.from_buffers(len(lists), pa.py_buffer(begins), content or pa.py_buffer(b""))
    return pc.utf8_rtrim_whitespace(texts)


def _as_dictionary(values: list[Any]) -> pa.DictionaryArray | None:
    """The values as a dictionary of large_string, and the place of each in it; None unless all of them are str.

    str joined to one, and cut where the sign between them is, become an array in half of the time that Arrow takes
    for a list. An element that has the sign itself makes more cuts than there are values.
    """
    if not values or not isinstance(values[0], str):
        return None
    try:
        content = (_END.join(values) + _END).encode()
    except (TypeError, UnicodeEncodeError):  # another type, or a lone surrogate
        return None
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord(_END))
    if len(ends) != len(values):
        return pa.array(values, pa.large_string()).dictionary_encode()
    offsets = np.zeros(len(values) + 1, np.int64)
    np.add(ends, 1, out=offsets[1:])
    texts = pa.LargeStringArray.from_buffers(len(values), pa.py_buffer(offsets), pa.py_buffer(content))
    encoded = texts.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, pc.utf8_rtrim(encoded.dictionary, characters=_END))


def _word(element: Any) -> str:
    """The word of an element: no other has it, but by a collision of hashes."""
    if isinstance(element, str) and _PLAIN.fullmatch(element):
        return element
    if isinstance(element, int | np.integer):
        return str(element)
    shown = element if isinstance(element, str | bytes) else repr(element)
    content = shown if isinstance(shown, bytes) else shown.encode("utf-8", "surrogatepass")
    readable = "".join(_PLAIN.findall(content.decode("latin-1").lower()))[:24] or "x"
    return f"{readable}_{blake2b(content, digest_size=12).hexdigest()}"


def _ids(names: list[Any], where: str) -> pa.Array:
    try:
        return pa.array(names)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        given = f"The ids of {where} cannot be used: {error}"
        raise InputError(given, "Ids of one type: str, or whole numbers") from error


def _kind(type_: type) -> str | None:
    """The kind of elements of a type; None for values that are no elements."""
    if issubclass(type_, bool | np.bool_):
        return None
    return next((kind for types, kind in _KINDS if issubclass(type_, types)), None)


def _element_error(value: Any, sizes: Int64s, place: int, where: str) -> InputError:
    row = int(np.searchsorted(np.cumsum(sizes), place, side="right"))
    shown = repr(value) if isinstance(value, int | float | np.number | None) else f"a {type(value).__name__}"
    nested = "Flatten it" if isinstance(value, Iterable) else "Convert or drop it"
    return InputError(f"Set {row} of {where} holds {shown}", _ELEMENTS, nested)


def _elements_of(given: Any, numbers: ElementNumbers, where: str) -> SetElements:
    if hasattr(given, "tocsr") or hasattr(given, "indptr"):
        return _of_matrix(given, numbers, where)
    if isinstance(given, Mapping):
        return _of_rows(list(given.values()), numbers, where)
    if isinstance(given, np.ndarray) and given.ndim != 1:
        shape = " by ".join(map(str, given.shape))
        raise InputError(
            f"{where} is an array of {shape}",
            _SETS,
            "Give list(array) for rows of elements, csr_matrix(array) for 0 and 1",
        )
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return _of_arrow(given, numbers, where)
    if hasattr(given, "__arrow_c_stream__") and str(getattr(given, "dtype", "")) != "object":
        try:
            return _of_arrow(pa.chunked_array(given), numbers, where)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"{where} is a {type(given).__name__}: {error}", _SETS, "Convert it") from error
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{where} is a {type(given).__name__}", _SETS, "Make a list of sets")
    return _of_rows(list(given), numbers, where)


def _of_rows(rows: list[Any], numbers: ElementNumbers, where: str) -> SetElements:
    """The elements of sets, lists, arrays, or mappings of elements to counts; None is an empty set."""
    types = {type_: _is_row(type_) for type_ in set(map(type, rows))}
    if not all(types.values()):
        rows = [() if row is None or (isinstance(row, float) and row != row) else row for row in rows]
    for number, row in enumerate(rows if np.ndarray in types or not all(types.values()) else ()):
        if not _is_row(type(row)) or (isinstance(row, np.ndarray) and row.ndim != 1):
            shown = f"Set {number} of {where} is a {type(row).__name__}"
            do = "Cut texts with neardup.tokens" if isinstance(row, str) else "Convert it"
            raise InputError(shown, "A set or a list of elements, or a mapping of elements to counts", do)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    if any(issubclass(type_, Mapping) for type_ in types):
        each = [row.values() if isinstance(row, Mapping) else [1] * len(row) for row in rows]
        counts = np.array([*chain.from_iterable(each)])
        return SetElements(numbers.of([*chain.from_iterable(rows)], sizes, where), sizes, counts)
    if rows and all(isinstance(row, np.ndarray) and row.dtype.kind in "iu" for row in rows):
        return SetElements(np.concatenate([numbers.of_array(row, where) for row in rows]), sizes)
    return SetElements(numbers.of([*chain.from_iterable(rows)], sizes, where), sizes)


def _is_row(type_: type) -> bool:
    """Whether values of a type are sets: collections of elements, and no text."""
    return issubclass(type_, Iterable) and hasattr(type_, "__len__") and not issubclass(type_, str | bytes)


def _of_arrow(given: Any, numbers: ElementNumbers, where: str) -> SetElements:
    lists = one_array(given) if isinstance(given, pa.ChunkedArray) else given
    if pt.is_fixed_size_list(lists.type) or pt.is_list_view(lists.type) or pt.is_large_list_view(lists.type):
        lists = lists.cast(pa.large_list(lists.type.value_type))
    if not (pt.is_list(lists.type) or pt.is_large_list(lists.type)):
        raise InputError(f"{where} holds {lists.type}", _SETS, "Give its column of lists")
    values = lists.flatten()  # without those of null lists
    sizes = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return SetElements(numbers.of_arrow(values, where), sizes)


def _of_matrix(matrix: Any, numbers: ElementNumbers, where: str) -> SetElements:
    """The columns of each row that are not 0, and their values, of a matrix of scipy or one like it."""
    if getattr(matrix, "format", "csr") != "csr" or not hasattr(matrix, "indptr"):
        matrix = matrix.tocsr()
    columns = np.asarray(matrix.indices)
    numbers.require(f"rows of a matrix with {matrix.shape[1]:,} columns", where)
    data = np.asarray(getattr(matrix, "data", np.ones(len(columns), np.int64)))
    sizes: Int64s = np.diff(np.asarray(matrix.indptr)).astype(np.int64)
    return SetElements(columns.astype(np.uint64), sizes, data)


def _whole_counts(counts: Any, where: str) -> Int64s:
    with np.errstate(invalid="ignore"):
        whole = counts.astype(np.int64) if counts.dtype.kind in "biuf" else np.full(len(counts), -1)
    wrong = np.flatnonzero((whole != counts) | (whole < 0) | (whole >= MOST_COUNTED))
    if len(wrong):
        raise InputError(
            f"{where} counts an element {counts[wrong[0]]} times", _COUNTS, "Round or drop the weights"
        )
    return np.asarray(whole, np.int64)


def as_weights(weights: Any, where: str) -> Floats:
    """Return weights (float64[n]). Raises InputError for one that is neither 0 nor from LEAST to MOST."""
    real = weights.astype(np.float64) if weights.dtype.kind in "biuf" else np.full(len(weights), np.nan)
    wrong = np.flatnonzero(~((real == 0) | ((real >= LEAST) & (real <= MOST))))
    if len(wrong):
        given = f"{where} has a weight of {weights[wrong[0]]}"
        raise InputError(given, f"Weights of 0, or from {LEAST} to {MOST}", "Drop or scale the weights")
    return np.asarray(real, np.float64)
