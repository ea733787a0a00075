"""Access rights: bearer tokens with the right to read or to write, kept as hashes."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from socket import gaierror, getaddrinfo
from typing import Literal, TypeAlias

from neardup.errors import InputError, SettingError
from neardup.io.writers.filesystem import exposed

Right: TypeAlias = Literal["read", "write"]

SHORTEST = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # b64token of RFC 6750, section 2.1
_LONGEST_FILE = 1_000_000
_FORM = f"Lines of 'read TOKEN' or 'write TOKEN'; a token has {SHORTEST} or more of A-Z a-z 0-9 . _ ~ + / - ="


@dataclass(frozen=True, repr=False)
class Tokens:
    """The hashes of the tokens of each right. Without tokens every request may read and write.

    >>> tokens = Tokens.of("read 0123456789abcdef # the office")
    >>> tokens.allow("read", "0123456789abcdef"), tokens.allow("write", "0123456789abcdef")
    (True, False)
    """

    hashes: tuple[tuple[Right, bytes], ...] = ()

    @classmethod
    def of(cls, text: str, where: str = "the token file") -> Tokens:
        """Return the tokens of a file. Raises InputError, without naming a token, for invalid lines."""
        found: list[tuple[Right, bytes]] = []
        for number, line in enumerate(text.splitlines(), 1):
            right, *rest = line.partition("#")[0].split() or [""]
            if not right:
                continue
            token = rest[0] if len(rest) == 1 else ""
            if right not in ("read", "write") or len(token) < SHORTEST or not _TOKEN.fullmatch(token):
                raise InputError(f"Line {number} of {where} cannot be read", _FORM)
            found.append(("read" if right == "read" else "write", _hash(token)))
        if not found:
            raise InputError(f"{where} contains no token", _FORM)
        return cls(tuple(found))

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def knows(self, token: str) -> bool:
        """Whether ``token`` is one of the tokens, with any right."""
        return self.allow("read", token)

    def place(self, token: str) -> int:
        """Return the index of the token, from 0; -1 if it is unknown. Takes the same time for every token."""
        given, found = _hash(token), -1
        for k, (_, stored) in enumerate(self.hashes):
            found = k if hmac.compare_digest(given, stored) else found
        return found

    def allow(self, right: Right, token: str) -> bool:
        """Whether a token has a right; write includes read. Takes the same time for every token."""
        given, allowed = _hash(token), False
        for owned, stored in self.hashes:
            fits = owned in (right, "write")
            allowed |= hmac.compare_digest(given, stored) and fits
        return allowed


def usable_token(token: object) -> bool:
    """Return whether a value has the form of a token, which a header can hold."""
    return isinstance(token, str) and _TOKEN.fullmatch(token) is not None


def read_tokens(path: Path) -> tuple[Tokens, str]:
    """Return the tokens of a file, and a warning if other users may read it, else ""."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_FILE + 1)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise InputError(f"The token file {path} cannot be read: {error.strerror}", _FORM) from error
    if len(content) > _LONGEST_FILE:
        raise InputError(f"The token file {path} has more than {_LONGEST_FILE:,} bytes", _FORM)
    return Tokens.of(content.decode("utf-8", "replace"), str(path)), exposed(path, mode)


def require_tokens(host: str, tokens: Tokens) -> bool:
    """Whether ``host`` is this machine only. Raises SettingError if it is not and no tokens are given."""
    try:
        addresses = {str(found[4][0]) for found in getaddrinfo(host, None)}
    except (gaierror, UnicodeError) as error:
        raise SettingError(f"--host is {host!r}, which is not an address", "An address of this machine") from error
    local = all(ip_address(address.partition("%")[0]).is_loopback for address in addresses)
    if not local and not tokens:
        raise SettingError(
            f"--host is {host!r}, which other machines can reach, without a --token-file",
            "Access from other machines only with tokens",
            "Give a --token-file, or --host 127.0.0.1",
        )
    return local


def _hash(token: str) -> bytes:
    # tokens are long and random, so a slow hash would add nothing but time
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
