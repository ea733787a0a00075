"""How signatures were made: what is stored with them, and what two must have in common to be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neardup.coefficients import FORMAT_VERSION
from neardup.errors import FormatError
from neardup.unicode_data import UNICODE_VERSION

KEY = b"neardup"
"""The key of the schema metadata of an Arrow table under which the provenance of its signatures stands."""

_NO_TABLE = "A table that to_arrow() of a family gave, with the metadata of its schema"


@dataclass(frozen=True)
class Provenance:
    """The family of some signatures, its parameters (seeds included) and the versions they depend on.

    ``parameters`` are plain values by name. Signatures can be compared only if all of this is equal.

    >>> print(Provenance("example", {"slots": 8, "of": "ids"}, 1, "15.0.0"))
    example (version 1, Unicode 15.0.0, slots 8, of ids)
    """

    family: str
    parameters: Mapping[str, Any]
    version: int = FORMAT_VERSION
    unicode: str = UNICODE_VERSION

    def __str__(self) -> str:
        says = [f"version {self.version}", f"Unicode {self.unicode}"]
        says += [f"{name} {_shown(value)}" for name, value in self.parameters.items()]
        return f"{self.family} ({', '.join(says)})"

    def metadata(self) -> dict[bytes, bytes]:
        """The schema metadata of a table of such signatures: one key, JSON."""
        whole = {"family": self.family, "version": self.version, "unicode": self.unicode, **self.parameters}
        return {KEY: json.dumps(whole, ensure_ascii=False).encode()}

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes] | None) -> Provenance:
        """Read what :meth:`metadata` gave. Raises FormatError for anything else, and for another version."""
        try:
            whole = json.loads((metadata or {})[KEY])
            made = cls(whole.pop("family"), whole, whole.pop("version"), whole.pop("unicode"))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise FormatError("The table does not say how its signatures were made", _NO_TABLE) from error
        if (made.version, made.unicode) != (FORMAT_VERSION, UNICODE_VERSION):
            raise FormatError(
                f"The signatures are {made}",
                f"This program makes and reads version {FORMAT_VERSION} with Unicode {UNICODE_VERSION}",
                "Sketch the texts again",
            )
        return made


def require_same(one: Provenance, other: Provenance) -> None:
    """Raise FormatError, which names both, unless signatures of these two can be compared."""
    if one != other:
        raise FormatError(
            f"One side is {one}; the other is {other}",
            "Signatures of one family with the same parameters and versions can be compared",
            "Sketch both with the same family",
        )


def _shown(value: Any) -> str:
    """A parameter in a sentence: long lists are cut, and nothing of a foreign file moves the cursor."""
    words = str(value)
    return "".join(c if c.isprintable() else "?" for c in (words if len(words) <= 60 else words[:57] + "…"))
