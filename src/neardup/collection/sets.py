"""The shingle sets of documents of a store, computed from their texts, with a cache; base texts count in none.

Base texts are stored documents, such as templates, whose shingles count in no document.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from neardup import display
from neardup.collection.entries import loaded_texts, unpack
from neardup.collection.store import Store
from neardup.errors import InputError, SettingError
from neardup.kernels.formulas import RESEMBLANCE
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import ratio
from neardup.tables import Bools, Int64s, UInt16s, UInt64s
from neardup.text.sketch import shingle_sets

Role: TypeAlias = Literal["document", "base"]
ROLES: tuple[Role, ...] = ("document", "base")

_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class CollectionBase:
    """The shingles of all base texts (uint64, sorted, distinct), and their state: (number, mark) of each text."""

    hashes: UInt64s
    state: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The numbers of the base texts."""
        return frozenset(number for number, _ in self.state)

    def contains(self, hashes: UInt64s) -> Bools:
        """bool[n]: which of the hashes are base text."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.bool_)
        # not isin, which sorts both: the base text may be much longer than a document
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        found: Bools = self.hashes[places] == hashes
        return found

    def without(self, hashes: UInt64s) -> UInt64s:
        """The hashes that count, in their order."""
        return hashes[~self.contains(hashes)] if len(self.hashes) else hashes


NO_BASE = CollectionBase(np.empty(0, np.uint64), ())

_known: WeakKeyDictionary[Store, CollectionBase] = WeakKeyDictionary()
_guard = threading.Lock()


def base_of(store: Store, deadline: Deadline = UNLIMITED) -> CollectionBase:
    """Return the base text in the state that the calling thread sees; read again only after a base text changed.

    Raises FormatError for damaged texts, and LimitError when the deadline passes.
    """
    with store.reading():
        state = tuple(sorted(store.base_texts().items()))
        if not state:
            return NO_BASE
        with _guard:
            known = _known.get(store)
        if known is None or known.state != state:
            known = CollectionBase(_shingles(store, state, deadline), state)
            with _guard:
                _known[store] = known
        return known


def texts_of(store: Store) -> list[str]:
    """Return the base texts, by number."""
    with store.reading():
        numbers = np.array(sorted(store.base_texts()), np.int64)
        return [text.decode("utf-8", "replace") for _, text in loaded_texts(store, numbers)]


def role_of(name: object) -> Role:
    """Return the role of this name. Raises SettingError for an unknown one."""
    for role in ROLES:
        if name == role:
            return role
    raise SettingError(f"role is {name!r}", f"One of {', '.join(ROLES)}")


def require_no_groups(store: Store) -> None:
    """Raise InputError if there are groups: they were formed with the present base texts."""
    groups = store.groups.count()
    if groups:
        raise InputError(
            f"The boilerplate of this collection cannot change: it has {display.counted(groups, 'group')}",
            "Boilerplate that is added before the first group is formed; nothing was changed",
            "Add the boilerplate, and then the documents, to a new collection",
        )


def require_same_role(store: Store, replaced: Mapping[str, int], role: Role) -> None:
    """Raise InputError if a document would replace one of the other role."""
    bases = store.base_texts()
    other = next((id for id, number in replaced.items() if (number in bases) != (role == "base")), None)
    if other is not None:
        known = "an ordinary document" if role == "base" else "boilerplate"
        raise InputError(
            f"The document {other[:80]!r} is {known}, and would be replaced by one of another role",
            "A document of the same role; nothing was stored",
            "Remove it first, or add the new one in its role",
        )


def _shingles(store: Store, state: tuple[tuple[int, int], ...], deadline: Deadline) -> UInt64s:
    numbers: Int64s = np.array([number for number, _ in state], np.int64)
    settings, found = store.settings, [np.empty(0, np.uint64)]
    for begin in range(0, len(numbers), _AT_ONCE):
        deadline.check()
        texts = [text for _, text in loaded_texts(store, numbers[begin : begin + _AT_ONCE])]
        array = pa.array(texts, pa.large_binary())
        sets = shingle_sets(array, np.arange(len(texts)), settings.fingerprint, settings.key)
        found.append(np.unique(sets.hashes))
    return np.unique(np.concatenate(found))


_BATCH = 256
_HELD = 1 << 23
"""The most shingles in the cache, 64 MB."""
_ANY = Criterion(0, 1, RESEMBLANCE)


class Sets:
    """Shingle sets by document number, without base text, in the state that the calling thread sees.

    ``waiting`` holds the compressed texts of documents that are not in the store yet. Reading or counting after
    the deadline raises LimitError.
    """

    def __init__(self, store: Store, deadline: Deadline = UNLIMITED) -> None:
        self._store, self._deadline = store, deadline
        self._held: OrderedDict[int, UInt64s] = OrderedDict()
        self._shingles = 0
        self.waiting: dict[int, bytes] = {}

    def of(self, documents: Sequence[int]) -> list[UInt64s]:
        """The sets (uint64, sorted) in this order. Raises FormatError for damaged texts."""
        missing = [number for number in dict.fromkeys(documents) if number not in self._held]
        fetched: dict[int, UInt64s] = {}
        for begin in range(0, len(missing), _BATCH):
            fetched.update(self._read(missing[begin : begin + _BATCH]))
        found = [fetched[number] if number in fetched else self._held[number] for number in documents]
        for number, hashes in fetched.items():
            self._held[number] = hashes
            self._shingles += len(hashes)
        while self._shingles > _HELD:
            _, hashes = self._held.popitem(last=False)
            self._shingles -= len(hashes)
        return found

    def hold(self, document: int, hashes: UInt64s) -> None:
        """Put the set of a document into the cache."""
        self.forget([document])
        self._held[document] = hashes
        self._shingles += len(hashes)

    def forget(self, documents: Sequence[int]) -> None:
        """Drop these from the cache: their texts have changed."""
        for number in documents:
            self._shingles -= len(self._held.pop(number, ()))

    def build(self, packed: Sequence[bytes]) -> list[UInt64s]:
        """The sets of compressed texts."""
        parts = [packed[begin : begin + _BATCH] for begin in range(0, len(packed), _BATCH)]
        return [hashes for part in parts for hashes in self._build([unpack(text, "") for text in part])]

    def shared_counts(self, document: int, others: Sequence[int]) -> Int64s:
        """int64[n]: |A∩B| of a document with others."""
        [hashes] = self.of([document])
        parts = [others[begin : begin + _BATCH] for begin in range(0, len(others), _BATCH)]
        counts = [shared_with(hashes, self.of(part)) for part in parts]
        return np.concatenate([np.empty(0, np.int64), *counts])

    def sizes(self, documents: Sequence[int]) -> dict[int, int]:
        """The number of distinct shingles of each document; read from the texts only if there is base text."""
        if not len(self.base):
            found = self._store.sizes(np.array(documents, np.int64)).tolist()
            return dict(zip(documents, found, strict=True))
        parts = [documents[begin : begin + _BATCH] for begin in range(0, len(documents), _BATCH)]
        return {one: len(hashes) for part in parts for one, hashes in zip(part, self.of(part), strict=True)}

    @cached_property
    def base(self) -> CollectionBase:
        """The base text, as it was at the first use."""
        return base_of(self._store, self._deadline)

    def _read(self, documents: Sequence[int]) -> Mapping[int, UInt64s]:
        """Read the sets of documents from their texts."""
        texts = {number: unpack(self.waiting[number], "") for number in documents if number in self.waiting}
        stored = [number for number in documents if number not in texts]
        if stored:
            self._deadline.check()
            read = loaded_texts(self._store, np.array(stored, np.int64))
            texts.update(zip(stored, (text for _, text in read), strict=True))
        return dict(zip(texts, self._build(list(texts.values())), strict=True))

    def _build(self, texts: Sequence[bytes]) -> list[UInt64s]:
        self._deadline.check()
        array = pa.array(texts, pa.large_binary())
        settings = self._store.settings
        sets = shingle_sets(array, np.arange(len(texts)), settings.fingerprint, settings.key)
        # copies: a view of one set would keep the sets of the whole batch in memory
        bounds = pairwise(sets.offsets.tolist())
        if len(self.base):
            return [self.base.without(sets.hashes[begin:end]) for begin, end in bounds]
        return [sets.hashes[begin:end].copy() for begin, end in bounds]


_KNOWN_BYTES = 1 << 27
"""The most bytes of compared documents that are kept, 128 MB."""


@dataclass(eq=False)
class _Known:
    """A compressed text, its shingles, and the last state in which the text was this one."""

    packed: bytes
    hashes: UInt64s
    state: str


class KnownShingles:
    """The shingles of documents that were compared, with their compressed texts and a state of the store.

    In the same state they hold. In another one, a text that is stored as it was then has the same shingles,
    whatever has changed since. Documents are forgotten in the order in which they were kept. For all threads.
    """

    def __init__(self, most: int = _KNOWN_BYTES) -> None:
        self._most, self._bytes, self._lock = most, 0, threading.Lock()
        self._held: OrderedDict[int, _Known] = OrderedDict()

    def __contains__(self, document: int) -> bool:
        return document in self._held

    def in_state(self, numbers: Sequence[int], state: str) -> list[UInt64s | None]:
        """The shingles (uint64, in text order, with repeats) of documents, if they are known in a state."""
        entries = map(self._held.get, numbers)
        return [known.hashes if known is not None and known.state == state != "" else None for known in entries]

    def of(self, numbers: Sequence[int], packed: Sequence[bytes], state: str) -> list[UInt64s | None]:
        """The shingles of documents with these compressed texts in a state."""
        entries = [
            known if known is not None and known.packed == text else None
            for known, text in zip(map(self._held.get, numbers), packed, strict=True)
        ]
        for known in entries:
            if known is not None:
                known.state = state
        return [None if known is None else known.hashes for known in entries]

    def keep(self, number: int, state: str, packed: bytes, hashes: UInt64s) -> None:
        """Keep the shingles of a document."""
        with self._lock:
            self._forget(self._held.pop(number, None))
            self._held[number] = _Known(packed, hashes, state)
            self._bytes += len(packed) + hashes.nbytes
            while self._bytes > self._most:
                self._forget(self._held.popitem(last=False)[1])

    def _forget(self, known: _Known | None) -> None:
        if known is not None:
            self._bytes -= len(known.packed) + known.hashes.nbytes


_shingles_known: WeakKeyDictionary[Store, KnownShingles] = WeakKeyDictionary()


def known_shingles(store: Store) -> KnownShingles:
    """Return the shingles of documents of a store that were compared."""
    with _guard:
        return _shingles_known.setdefault(store, KnownShingles())


MANY = 100
"""Documents compared at once whose outlines are kept, and looked at first."""
_BITS = 16
_OUTLINED = 1 << 25
"""The most shingles whose low bits are kept, 64 MB."""
_BOUNDED = 1000


class ShingleOutlines:
    """The low 16 bits of the shingles of documents, in one state of a store: bounds of the shared shingles.

    Documents are forgotten in the order in which they were kept. For all threads.
    """

    def __init__(self, state: str, most: int = _OUTLINED) -> None:
        self.state, self._most = state, most
        self._held: OrderedDict[int, UInt16s] = OrderedDict()
        self._shingles, self._lock = 0, threading.Lock()

    def __contains__(self, document: int) -> bool:
        return document in self._held

    def keep(self, documents: Sequence[int], sets: Sequence[UInt64s]) -> None:
        """Keep the low bits of the shingles of documents; repeated shingles only weaken the bound."""
        with self._lock:
            for number, hashes in zip(documents, sets, strict=True):
                if len(hashes) and number not in self._held:
                    self._held[number] = hashes.astype(np.uint16)
                    self._shingles += len(hashes)
            while self._shingles > self._most:
                self._shingles -= len(self._held.popitem(last=False)[1])

    def may_share(self, hashes: UInt64s, documents: Int64s, least: int) -> Bools:
        """bool[n]: False for documents that certainly contain fewer than ``least`` of the hashes."""
        marks = np.zeros(1 << _BITS, np.uint8)
        marks[hashes.astype(np.uint16)] = 1
        may = np.ones(len(documents), np.bool_)
        outlines = list(map(self._held.get, documents.tolist()))
        places = [place for place, bits in enumerate(outlines) if bits is not None]
        for begin in range(0, len(places), _BOUNDED):
            part = places[begin : begin + _BOUNDED]
            known = [bits for place in part if (bits := outlines[place]) is not None]
            lengths = np.array(list(map(len, known)), np.int64)
            marked = marks.take(np.concatenate(known))
            most = np.add.reduceat(marked, np.cumsum(lengths) - lengths, dtype=np.int64)
            may[part] = most >= least
        return may


_outlines: WeakKeyDictionary[Store, ShingleOutlines] = WeakKeyDictionary()


def outlines_of(store: Store) -> ShingleOutlines | None:
    """Return the outlines of the state that the calling thread sees; None where it has no name."""
    state = store.state()
    if not state:
        return None
    with _guard:
        known = _outlines.get(store)
        if known is None or known.state != state:
            known = _outlines[store] = ShingleOutlines(state)
        return known


def shared_with(hashes: UInt64s, others: Sequence[UInt64s]) -> Int64s:
    """int64[n]: the number of elements that a sorted set has in common with each of the others."""
    own = np.zeros(len(others), np.int64)
    return shared_of_pairs([hashes, *others], own, np.arange(1, len(others) + 1))


def shared_of_pairs(sets: Sequence[UInt64s], first: Int64s, second: Int64s) -> Int64s:
    """int64[n]: the number of elements that set ``first[k]`` has in common with set ``second[k]``, both sorted."""
    offsets = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(hashes) for hashes in sets], out=offsets[1:])
    shared = np.empty(len(first), np.int64)
    verify_pairs(np.concatenate([np.empty(0, np.uint64), *sets]), offsets, first, second, _ANY, shared)
    return shared


def reaches(shared: int, size: int, other: int, threshold: float) -> bool:
    """Whether |A∩B| / |A∪B| is at least the threshold, in whole numbers; False for documents without words.

    >>> reaches(8, 9, 9, 0.8), reaches(7, 9, 8, 0.8), reaches(0, 0, 0, 0.8)
    (True, False, False)
    """
    numerator, denominator = ratio(threshold)
    return shared > 0 and shared * denominator >= numerator * (size + other - shared)
