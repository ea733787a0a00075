"""Complete linkage: does a document pair with every member of a group, without a look at each member?

Members are stored in classes by the shingles of their leader that they lack. For two members A and B of leader L,
|A∩B| ≥ |L| − |(L∖A) ∪ (L∖B)|, and members of one class lack the same shingles: in a crowd of forms, which all lack
the leader's date, one look at a class settles thousands of pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.join.prefix_index import same_side, shared_of
from neardup.kernels.sets import least_shared
from neardup.kernels.shingles import mix64

NONE = -1


class MemberClasses(NamedTuple):
    """The members of each leader, by class. A class is identified by its first member, its head.

    All are int64[documents] but ``key``: ``first`` class of a leader, ``following`` class of a head, ``member``
    after a member; of a head also ``key`` (uint64, hash of the shingles its members lack), ``lacks`` (their
    number; −1 if not known) and ``largest`` (size of its largest member).
    """

    first: Any
    following: Any
    member: Any
    key: Any
    lacks: Any
    largest: Any


@njit(cache=True, nogil=True)
def no_classes(documents):
    """Return ``MemberClasses`` without members."""
    none = np.full(documents, NONE, np.int64)
    return MemberClasses(
        none.copy(), none.copy(), none.copy(), np.zeros(documents, np.uint64), none.copy(), none.copy()
    )


@njit(cache=True, nogil=True)
def lacking(hubs, x, leader):
    """Return (key, number) of the shingles of hub document ``leader`` that hub document ``x`` lacks."""
    key, lacks = np.uint64(0), 0
    j, end = hubs.starts[x], hubs.starts[x] + hubs.sizes[x]
    for i in range(hubs.starts[leader], hubs.starts[leader] + hubs.sizes[leader]):
        while j < end and hubs.hashes[j] < hubs.hashes[i]:
            j += 1
        if j == end or hubs.hashes[j] != hubs.hashes[i]:
            key += mix64(hubs.hashes[i])
            lacks += 1
    return key, lacks


@njit(cache=True, nogil=True)
def _describe(d, leader, hubs):
    """Return (key, lacks, size) of document d under a leader; lacks is −1 if a set is not available."""
    x, y = hubs.local[d], hubs.local[leader]
    if x < 0 or y < 0:
        return np.uint64(d), -1, 0
    key, lacks = lacking(hubs, x, y)
    if hubs.across.size > 0:  # members of a class are on one side
        key ^= mix64(hubs.across[x])
    return key, lacks, hubs.sizes[x]


@njit(cache=True, nogil=True)
def pairs_with_all(d, leader, classes, partner_of, hubs, criterion):
    """Return whether d is a found pair with every member of the leader's group, or certain to be one."""
    key, lacks, size = _describe(d, leader, hubs)
    head = classes.first[leader]
    while head >= 0:
        certain = False
        if lacks >= 0 and classes.lacks[head] >= 0:
            same = key == classes.key[head] and lacks == classes.lacks[head]
            union = lacks if same else lacks + classes.lacks[head]
            shared = hubs.sizes[hubs.local[leader]] - union
            certain = shared >= least_shared(size, classes.largest[head], criterion)
            certain = certain and not same_side(hubs, hubs.local[d], hubs.local[head])
        member = np.int64(NONE) if certain else head
        while member >= 0:
            if partner_of[member] != d and not _is_pair(hubs, criterion, d, member):
                return False
            member = classes.member[member]
        head = classes.following[head]
    return True


@njit(cache=True, nogil=True)
def _is_pair(hubs, criterion, d, other):
    x, y = hubs.local[d], hubs.local[other]
    return x >= 0 and y >= 0 and shared_of(hubs, criterion, min(x, y), max(x, y)) >= 0


@njit(cache=True, nogil=True)
def enter_member(d, leader, classes, hubs):
    """Put d into its class among the members of the leader."""
    key, lacks, size = _describe(d, leader, hubs)
    head = classes.first[leader]
    while head >= 0 and (lacks < 0 or classes.lacks[head] != lacks or classes.key[head] != key):
        head = classes.following[head]
    if head < 0:
        classes.key[d], classes.lacks[d], classes.largest[d] = key, lacks, size
        classes.following[d] = classes.first[leader]
        classes.first[leader] = d
        return
    classes.largest[head] = max(classes.largest[head], size)
    classes.member[d] = classes.member[head]
    classes.member[head] = d
