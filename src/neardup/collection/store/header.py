"""The header of a collection: its settings and its secret, with a seal, and the version of its tables."""

import json
from collections.abc import Container, Mapping
from dataclasses import replace

from neardup.collection.settings import CollectionSettings
from neardup.collection.store.failures import damaged_error
from neardup.errors import FormatError, SettingError
from neardup.io.decisions import seal
from neardup.io.place import Place
from neardup.runtime import SECRET_BYTES, installed_version
from neardup.tables import FORMAT_VERSION as FINGERPRINT_VERSION
from neardup.unicode import UNICODE_VERSION

_PARTS = "parts"
"""The key of a collection whose documents all name the parts of their files that are not in their texts."""


def header_of(settings: CollectionSettings, **more: str) -> dict[str, str]:
    """The header of a new collection, with ``more`` entries under its seal."""
    header = {
        "neardup_version": installed_version("neardup") or "unknown",
        "fingerprint": str(FINGERPRINT_VERSION),
        "unicode": UNICODE_VERSION,
        "settings": json.dumps(settings.as_dict()),
        "secret": settings.secret.hex(),
        _PARTS: "named",
    }
    return sealed_header(header | more)


def sealed_header(header: Mapping[str, str]) -> dict[str, str]:
    """The header with the seal of what it has now."""
    sealed = {key: value for key, value in header.items() if key != "seal"}
    return sealed | {"seal": _seal(sealed)}


def settings_of(header: Mapping[str, str], place: Place) -> CollectionSettings:
    """The settings in a header. Raises FormatError for one that was changed or is of another version."""
    sealed = {key: value for key, value in header.items() if key != "seal"}
    if header.get("seal", "") != _seal(sealed):
        raise damaged_error(place, "its header was changed")
    made = (header.get("fingerprint"), header.get("unicode"))
    if made != (str(FINGERPRINT_VERSION), UNICODE_VERSION):
        raise FormatError(
            f"{place} was made with fingerprints of version {made[0]} and Unicode {made[1]}",
            f"This program makes version {FINGERPRINT_VERSION} with Unicode {UNICODE_VERSION}",
            "Use the program that wrote it, or add the documents to a new collection",
        )
    try:
        settings = CollectionSettings.of(**json.loads(header["settings"]))
        return replace(settings, secret=_secret(header["secret"]), has_parts=header.get(_PARTS) == "named")
    except (KeyError, TypeError, ValueError, SettingError) as error:
        raise damaged_error(place, f"its settings cannot be read ({error})") from error


def require_current(found: int, where: str, steps: Container[int], wanted: int, more: str = "") -> None:
    """Raise FormatError unless ``found`` is the ``wanted`` version of the tables.

    The error states whether ``steps``, each from one version to the next, could help, and what ``more`` is read.
    """
    if found == wanted:
        return
    can = found > 0 and found < wanted and all(version in steps for version in range(found, wanted))
    raise FormatError(
        f"{where} is a collection of format version {found}",
        f"This program reads and writes version {wanted}{more}",
        "Make a copy of it, and bring it to that version: neardup collection compact --upgrade, or upgrade=True"
        if can
        else "Use the program that wrote it, or add the documents to a new collection",
    )


def _seal(header: Mapping[str, str]) -> str:
    return str(seal(sorted(header.items())))


def _secret(stored: str) -> bytes:
    secret = bytes.fromhex(stored)
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a secret of {len(secret)} bytes")
    return secret
