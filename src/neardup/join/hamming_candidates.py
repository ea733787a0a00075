"""Candidates by SimHash: documents whose fingerprints differ in few bits. No pair within the distance is missed.

Documents that would cost quadratic work are passed on as *hub documents*, as in ``lsh_candidates.py``: crowds of
equal fingerprints, and fingerprints with many others near them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.join.candidates import Candidates
from neardup.join.lsh_candidates import HUB
from neardup.lsh.hamming.pairs import NearPairs, near_pairs, products
from neardup.lsh.hamming.words import FingerprintWords, distinct, read_fingerprints
from neardup.runtime import Advance
from neardup.settings.rules import check
from neardup.tables import CANDIDATES, Int64s, UInt64s


def candidates(fingerprints: UInt64s, distance: int, first_new: int, threads: int, advance: Advance) -> Candidates:
    """Candidate pairs of the documents with these fingerprints (uint64[n], or uint64[n, 2] for 128 bits).

    Pairs of two documents below ``first_new`` are left out. Equal fingerprints are looked up once. A fingerprint
    is a hub if more than ``HUB`` documents have it or one near it. Its documents, and those of all fingerprints
    near it, are hub documents, and the pairs among them may be missing from the result. The result therefore has
    at most ``HUB`` / 2 pairs per document, however many equal fingerprints are near each other. ``hub_buckets``
    counts the fingerprints of hub documents; ``largest_bucket`` is the largest number of documents with one
    fingerprint (0: all differ). ``advance`` is called with 1 for each table. Raises SettingError and InputError as
    ``hamming_pairs`` does.
    """
    rows = read_fingerprints(fingerprints)
    check(64 * rows.shape[1], distance)
    classes = distinct(FingerprintWords.of(rows))
    near = near_pairs(classes.words, distance, threads, HUB, advance)
    full = _documents_near(near, classes.sizes) > HUB
    of_full = full[near.a] | full[near.b]
    hub = full.copy()
    hub[np.concatenate((near.crowded, near.a[of_full], near.b[of_full]))] = True
    several = np.flatnonzero((classes.sizes > 1) & ~full)
    a, b, _ = products(
        classes.rows,
        classes.starts,
        np.concatenate((near.a[~of_full], several)),
        np.concatenate((near.b[~of_full], several)),
    )
    largest = int(classes.sizes.max(initial=0))
    hub_rows, _ = classes.members(np.flatnonzero(hub))
    return Candidates(_table(a, b, first_new), np.sort(hub_rows), int(hub.sum()), largest if largest > 1 else 0)


def _documents_near(near: NearPairs, sizes: Int64s) -> Int64s:
    """int64[fingerprints]: how many documents have this fingerprint or one near it."""
    counted = sizes.copy()
    np.add.at(counted, near.a, sizes[near.b])
    np.add.at(counted, near.b, sizes[near.a])
    return counted


def _table(a: Int64s, b: Int64s, first_new: int) -> pa.Table:
    """The pairs with a document at or above ``first_new``, each once and sorted, without self-pairs."""
    a, b = np.minimum(a, b), np.maximum(a, b)
    wanted = (a < b) & (b >= first_new)
    keys = np.unique(a[wanted].astype(np.uint64) << np.uint64(32) | b[wanted].astype(np.uint64))
    columns = [(keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)]
    return pa.table(columns, schema=CANDIDATES)
