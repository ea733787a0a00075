"""Limits for all requests together, of which one client cannot take everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from neardup.web.refusals import overloaded

Client: TypeAlias = int | None
"""The index of the client's token in the token file, or None if clients are not distinguished."""

_SHARE = 3, 4


class Quota:
    """``most`` units, such as requests or bytes; each of several clients takes at most three quarters.

    ``observe`` receives the number of taken units. ``given`` is the message of a refusal, with ``{}``
    for the words about one client.

    >>> quota = Quota(10, "Too many requests{} are under way", lambda taken: None)
    >>> quota.take(7)
    >>> quota.give_back(2)
    >>> quota.taken
    5
    """

    def __init__(self, most: int, given: str, observe: Callable[[int], None], clients: int = 0) -> None:
        self._most, self._given, self._observe = most, given, observe
        self._share = most if clients < 2 else -(-most * _SHARE[0] // _SHARE[1])
        self._taken: Counter[Client] = Counter()

    @property
    def taken(self) -> int:
        """The number of taken units."""
        return self._taken.total()

    def require(self, units: int = 1, client: Client = None) -> None:
        """Raise RefusedError if too few units are free for this client."""
        if self.taken + units > self._most:
            raise overloaded(self._given.format(""))
        if client is not None and self._taken[client] + units > self._share:
            raise overloaded(self._given.format(" with this token"))

    def take(self, units: int = 1, client: Client = None) -> None:
        """Take units. Raises RefusedError if too few are free."""
        self.require(units, client)
        self.give_back(-units, client)

    def give_back(self, units: int = 1, client: Client = None) -> None:
        """Free units."""
        self._taken[client] -= units
        self._observe(self.taken)


__all__ = ["Client", "Quota"]
