"""The stages that find the pairs, and those that say which ones are missing."""

from __future__ import annotations

import numpy as np

from neardup.group.leaders import Grouped, GroupRules
from neardup.group.rows import CopyClasses
from neardup.join.evidence import ExactJoin, FoundPairs, HeldSets, Proposal, Search, SearchOutcome
from neardup.join.missing import missing_among
from neardup.join.missing_crowds import missing_members
from neardup.join.portions import verified_room
from neardup.join.rows import Rows, Sketches
from neardup.join.search import propose as proposed
from neardup.lsh.bands import Plan
from neardup.run.audit.count import Reported
from neardup.run.audit.outcome import Audit
from neardup.run.audit.outcome import audit as audited
from neardup.run.pipeline import Meter
from neardup.run.stages.records import BandPlan, MissingPairs
from neardup.settings import SearchSettings, Sketch


def propose(rows: Rows, sketches: Sketches, bands: BandPlan, meter: Meter) -> tuple[Search, Proposal]:
    """Choose the search, and propose pairs."""
    return proposed(rows, sketches, bands.plan, meter)


def prove(
    rows: Rows,
    search: Search,
    proposal: Proposal,
    documents: CopyClasses,
    rules: GroupRules,
    asked: SearchSettings,
    meter: Meter,
) -> tuple[FoundPairs, ExactJoin, HeldSets, SearchOutcome]:
    """Count the common shingles of each proposed pair, and of those that chains of pairs connect."""
    with_leaders = rules.grouping.groups == "principal" and rules.grouping.pairs == "needed" and not asked.audit
    return search.prove(rows, proposal, meter, documents.rank if with_leaders else None)


def audit(
    rows: Rows,
    found: FoundPairs,
    outcome: SearchOutcome,
    groups: Grouped,
    search: SearchSettings,
    meter: Meter,
) -> Audit:
    """Compare some documents with all others, and check the pairs that the run reports for them."""
    joined = np.zeros(len(rows.unique), np.bool_)
    joined[outcome.hub] = True
    reported = Reported((found.pairs, groups.pairs), joined, groups.limited)
    with meter.stage("audit", len(rows.unique), "documents") as advance:
        return audited(rows, reported, search, advance)


def missing(
    rows: Rows,
    exact: ExactJoin,
    outcome: SearchOutcome,
    groups: Grouped,
    rules: GroupRules,
    sketch: Sketch,
    search: SearchSettings,
    meter: Meter,
) -> MissingPairs:
    """Estimate the pairs that the search missed, also among the documents that were joined exactly."""
    if outcome.missing is None:
        return MissingPairs(None)
    plan, family, threads = outcome.plan, sketch.sketch, rules.threads
    with meter.stage("recall", None, "pairs"):
        if exact.index is None or outcome.in_buckets is None or not isinstance(plan, Plan):
            return MissingPairs(outcome.missing)
        room = verified_room(search, rows.corpus.scratch)
        limited, pairs = groups.limited, groups.pairs
        among = missing_among(pairs, exact.index, outcome.in_buckets, limited, plan, family, room, threads)
        members = missing_members(pairs, exact.index, limited, rules.criterion, plan, family, threads)
        return MissingPairs(outcome.missing + among + members)
