"""Places for requests: a limit for all, and a limit for each client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from neardup.service.refusals import overloaded

Client: TypeAlias = int | None
"""The index of the client's token in the token file, or None if clients are not distinguished."""

_SHARE = 3, 4


class Places:
    """``most`` places; if there are several clients, each takes at most three quarters.

    ``observe`` receives the number of taken places. ``what`` completes the message "Too many requests …".
    """

    def __init__(self, most: int, n_clients: int, what: str, observe: Callable[[int], None]) -> None:
        self._most, self._what, self._observe = most, what, observe
        self._share = most if n_clients < 2 else -(-most * _SHARE[0] // _SHARE[1])
        self._taken: Counter[Client] = Counter()

    @property
    def taken(self) -> int:
        """The number of taken places."""
        return self._taken.total()

    def require(self, client: Client) -> None:
        """Raise RefusedError if no place is free for this client."""
        if self.taken >= self._most:
            raise overloaded(f"Too many requests {self._what}")
        if client is not None and self._taken[client] >= self._share:
            raise overloaded(f"Too many requests with this token {self._what}")

    def take(self, client: Client) -> None:
        """Take a place. Raises RefusedError if none is free."""
        self.require(client)
        self._taken[client] += 1
        self._observe(self.taken)

    def give_back(self, client: Client) -> None:
        """Free a place."""
        self._taken[client] -= 1
        self._observe(self.taken)


__all__ = ["Client", "Places"]
