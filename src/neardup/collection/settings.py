"""The fingerprint settings of a collection: fixed when it is created, and stored in it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias, Unpack

from neardup.display.view import PlainData
from neardup.errors import SettingError
from neardup.kernels.text import Key
from neardup.runtime import new_secret
from neardup.settings import (
    CLEANING,
    COLLECTION_FIELDS,
    CollectionKeywords,
    SampleSettings,
    Settings,
    names_of,
    refuse_mistakes,
)
from neardup.text.cleaning import Cleaner, cleaner_of
from neardup.text.keys import key_of
from neardup.text.sketch import SampledShingles

_SLOTS: int = COLLECTION_FIELDS["slots"].default


@dataclass(frozen=True)
class CollectionSettings(PlainData):
    """The settings of a collection; make one with :meth:`of`, which checks them.

    ``fingerprint``: those that a run has, too: the words in a shingle, the slots of a MinHash signature, and the
    text that does not count; words are searched in all text. ``samples``: every shingle whose hash is below
    2⁶⁴ / scale is in the sample of its document, and at least the ``floor`` smallest.

    ``secret`` (32 bytes) is the key of the hashes, drawn when the collection is created: anyone who knows it can
    forge the counts. It is stored only in the file, and is not a setting that users see or set. ``has_parts``: the
    metadata of each document names the parts of its file that are not in its text; not so in collections of
    earlier versions.

    >>> CollectionSettings.of(scale=64).as_dict()
    {'length': 5, 'slots': 64, 'scale': 64, 'floor': 8}
    """

    fingerprint: Settings = field(default_factory=partial(Settings.of, slots=_SLOTS))
    samples: SampleSettings = field(default_factory=SampleSettings)
    secret: bytes = field(default_factory=new_secret, repr=False, compare=False)
    has_parts: bool = field(default=True, repr=False, compare=False)

    @classmethod
    def of(cls, **values: Unpack[CollectionKeywords]) -> "CollectionSettings":
        """Return settings with the given values. Raises one SettingError that names all mistakes."""
        given: dict[str, Any] = {"slots": _SLOTS, **values}
        refuse_mistakes(given, COLLECTION_FIELDS, " of a collection")
        own = {name: given.pop(name) for name in names_of(SampleSettings) if name in given}
        return cls(Settings.of(**given), SampleSettings(**own))

    @classmethod
    def new(cls, given: "GivenSettings") -> "CollectionSettings":
        """Return the settings of a new collection: with the secret of another one, or with a new one."""
        return given if isinstance(given, CollectionSettings) else cls.of(**given)

    @property
    def length(self) -> int:
        """The tokens in a shingle."""
        return self.fingerprint.shingles.length

    @property
    def slots(self) -> int:
        """The slots of a signature."""
        return self.fingerprint.sketch.slots

    @property
    def scale(self) -> int:
        """One shingle in this many is in a sample."""
        return self.samples.scale

    @property
    def floor(self) -> int:
        """The least number of shingles in a sample, if a document has as many."""
        return self.samples.floor

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

    @property
    def cleaner(self) -> Cleaner | None:
        """The parts of texts that do not count; None if all do."""
        return cleaner_of(self.fingerprint.cleaning)

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by name, without the secret and without rules that leave out nothing."""
        values = {**self.fingerprint.as_dict(), **asdict(self.samples)}
        return {name: values[name] for name in COLLECTION_FIELDS if name not in CLEANING or values[name]}

    def require(self, given: "GivenSettings", where: str) -> None:
        """Raise SettingError if a ``given`` setting differs from that of the collection ``where``."""
        if isinstance(given, CollectionSettings):
            given = given.as_dict()
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


GivenSettings: TypeAlias = Mapping[str, Any] | CollectionSettings
"""Some settings by name, or those of another collection, whose secret a new one shares."""
