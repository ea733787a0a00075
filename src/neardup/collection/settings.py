"""The fingerprint settings of a collection: fixed when it is created, and stored in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

from neardup.errors import SettingError
from neardup.kernels.text.keyed import Key
from neardup.settings import CLEANING, Cleaning, Settings
from neardup.sketch.sampled import SampledShingles
from neardup.text.cleaning import Cleaner
from neardup.text.keys import key_of, new_secret

# Measured on documents of 3 kB: the postings take a tenth of the bytes of the text. A shingle look-up that the
# sample cannot serve uses the full-text index, so a denser sample would buy speed for bytes, not completeness.
SCALE, FLOOR, SLOTS = 5, 8, 64
_NAMES = ("length", "slots", "scale", "floor")


class CollectionKeywords(TypedDict, total=False):
    """The settings of a collection, by name."""

    length: int
    slots: int
    scale: int
    floor: int
    tokenizer: str
    mask: str | Sequence[str]
    ignore_numbers: bool
    stop_words: str | Collection[str]


@dataclass(frozen=True)
class CollectionSettings:
    """The settings of a collection; make one with :meth:`of`, which checks them.

    ``length``: words in a shingle. ``slots``: slots of a MinHash signature. ``scale``, ``floor``: every shingle
    whose hash is below 2⁶⁴ / scale is in the sample of its document, and at least the ``floor`` smallest.
    ``cleaning``: the text that does not count, given as ``mask``, ``ignore_numbers`` and ``stop_words``, and the
    ``tokenizer``; words are searched in all text.

    ``secret`` (32 bytes) is the key of the hashes, drawn when the collection is created: anyone who knows it can
    forge the counts. It is stored only in the file, and is not a setting that users see or set.

    >>> CollectionSettings.of(scale=64).as_dict()
    {'length': 5, 'slots': 64, 'scale': 64, 'floor': 8}
    """

    length: int = 5
    slots: int = SLOTS
    scale: int = SCALE
    floor: int = FLOOR
    cleaning: Cleaning = field(default_factory=Cleaning)
    secret: bytes = field(default_factory=new_secret, repr=False, compare=False)

    @classmethod
    def of(cls, **values: Unpack[CollectionKeywords]) -> CollectionSettings:
        """Return settings with the given values. Raises SettingError for invalid ones."""
        unknown = [name for name in values if name not in (*_NAMES, *CLEANING)]
        if unknown:
            allowed = ", ".join((*_NAMES, *CLEANING))
            raise SettingError(f"There is no setting {unknown[0]!r} of a collection", allowed)
        left_out: dict[str, Any] = {name: value for name, value in values.items() if name in CLEANING}
        plain: dict[str, Any] = {name: value for name, value in values.items() if name in _NAMES}
        made = cls(**plain)
        checked = Settings.of(length=made.length, slots=made.slots, **left_out)
        made = replace(made, cleaning=checked.cleaning)
        SampledShingles(made.scale, made.floor)
        return made

    @property
    def limit(self) -> int:
        """Every document that contains a shingle with a hash below this limit has it in its sample."""
        return (1 << 64) // self.scale

    @cached_property
    def sample(self) -> SampledShingles:
        """The family of the samples."""
        return SampledShingles(self.scale, self.floor, length=self.length)

    @cached_property
    def key(self) -> Key:
        """The key of all hashes of the collection."""
        return key_of(self.secret)

    @cached_property
    def fingerprint(self) -> Settings:
        """The settings in the form that fingerprinting accepts."""
        return replace(Settings.of(length=self.length, slots=self.slots), cleaning=self.cleaning)

    @property
    def cleaner(self) -> Cleaner | None:
        """The parts of texts that do not count; None if all do."""
        return self.cleaning.cleaner

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by name, without the secret and without rules that leave out nothing."""
        found = {name: getattr(self, name) for name in _NAMES}
        for name in CLEANING:
            if value := getattr(self.cleaning, name):
                found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def require(self, given: Mapping[str, Any], where: str) -> None:
        """Raise SettingError if a ``given`` setting differs from that of the collection ``where``."""
        mine, asked = self.as_dict(), CollectionSettings.of(**{**self.as_dict(), **given}).as_dict()
        other = [
            f"{name} {mine.get(name, 'off')}, not {asked.get(name, 'off')}"
            for name in given
            if mine.get(name) != asked.get(name)
        ]
        if other:
            raise SettingError(
                f"{where} was made with {'; '.join(other)}",
                "The same settings, which are fixed when a collection is made",
                "Leave them out, or add the documents to a new collection",
            )
