"""Which members of the prefix lists lead a group: bits over all members, searched by size, 64 × 64 at a time.

A crowd has one leader among thousands of members; thousands of texts on one page of boilerplate lead themselves.
Both are searched in little more time than the number of leaders found requires.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.bitmap import no_bits, set_bit
from neardup.kernels.compiled import njit


class LeaderBits(NamedTuple):
    """Bit p of ``leads``: ``members[p]`` leads; bit w of ``words``: word w of ``leads`` is not 0.

    ``leaders`` and ``leader_words`` are the same for the documents themselves, in the order of size.
    """

    leads: Any  # uint64[members / 64 + 1]
    words: Any  # uint64[members / 4096 + 1]
    counts: Any  # int64[lists + 1] leaders in each list, then the number of all leaders
    leaders: Any  # uint64[hubs / 64 + 1]
    leader_words: Any  # uint64[hubs / 4096 + 1]


@njit(cache=True, nogil=True)
def no_leaders(hubs):
    """Return a ``LeaderBits`` in which no member of any list leads."""
    leads, words = no_bits(hubs.members.size)
    leaders, leader_words = no_bits(hubs.documents.size)
    return LeaderBits(leads, words, np.zeros(hubs.first.size, np.int64), leaders, leader_words)


@njit(cache=True, nogil=True)
def enter_leader(x, hubs, listed):
    """Record that hub document x leads from now on."""
    set_bit(listed.leaders, listed.leader_words, x)
    listed.counts[-1] += 1
    for e in range(hubs.begin[x], hubs.begin[x + 1]):
        place = hubs.first[hubs.list_of[e]] + hubs.place[e]
        set_bit(listed.leads, listed.words, place)
        listed.counts[hubs.list_of[e]] += 1
