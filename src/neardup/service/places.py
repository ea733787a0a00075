"""Places for requests: so many at a time, and of these so many for one client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from neardup.service.refusals import overloaded

Client: TypeAlias = int | None
"""Who asks: the place of the token in the token file. None: nobody is told apart."""

_SHARE = 3, 4


class Places:
    """``most`` places, of which one client of several takes three quarters at most.

    ``observe`` is told how many are taken. ``what`` is for the one who finds none.
    """

    def __init__(self, most: int, n_clients: int, what: str, observe: Callable[[int], None]) -> None:
        self._most, self._what, self._observe = most, what, observe
        self._share = most if n_clients < 2 else -(-most * _SHARE[0] // _SHARE[1])
        self._taken: Counter[Client] = Counter()

    @property
    def taken(self) -> int:
        """Places that are taken."""
        return self._taken.total()

    def require(self, client: Client) -> None:
        """Raise RefusedError when there is no place for this client."""
        if self.taken >= self._most:
            raise overloaded(f"Too many requests {self._what}")
        if client is not None and self._taken[client] >= self._share:
            raise overloaded(f"Too many requests with this token {self._what}")

    def take(self, client: Client) -> None:
        """Take a place. Raises RefusedError when there is none."""
        self.require(client)
        self._taken[client] += 1
        self._observe(self.taken)

    def give_back(self, client: Client) -> None:
        """The place is free again."""
        self._taken[client] -= 1
        self._observe(self.taken)


__all__ = ["Client", "Places"]
