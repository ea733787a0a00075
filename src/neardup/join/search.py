"""Rows and sketches → proposed pairs, by the method that was asked for or the one that suits the documents."""

from __future__ import annotations

from dataclasses import replace

from neardup.join.evidence import Proposal, Search
from neardup.join.method import MOST_OF_A_LIST, Choice, by_simhash, choose, is_close, reconsider, surely_exact
from neardup.join.prefix_join import lookups
from neardup.join.rows import Rows, Sketches
from neardup.join.searches import CommonTextSearch, ExactSearch, HammingSearch, LshSearch
from neardup.lsh.bands import Plan
from neardup.measures import MEASURES
from neardup.runtime import Progress
from neardup.text.keys import PUBLIC


def propose(rows: Rows, sketches: Sketches, plan: Plan | None, progress: Progress) -> tuple[Search, Proposal]:
    """Choose a search and let it propose; its ``prove`` then finds the pairs, without the sketches.

    ``plan`` holds the bands; None for a search by SimHash. Pairs of two documents of the reference set are left
    out.
    """
    wanted, shingles = rows.settings.search, int(rows.units[rows.unique].sum())
    search: Search
    if plan is None:
        search = HammingSearch(by_simhash(rows.settings, shingles))
        return search, search.propose(rows, sketches, progress)
    choice = choose(wanted, shingles, rows.settings.shingles.unit)
    if MEASURES[wanted.measure].features == "tokens":
        search = CommonTextSearch(choice, plan)
    elif choice.method == "exact":
        return _exact_or_lsh(choice, plan, rows, sketches, progress)
    else:
        search = LshSearch(choice, plan)
    return search, search.propose(rows, sketches, progress)


def _exact_or_lsh(
    choice: Choice, plan: Plan, rows: Rows, sketches: Sketches, progress: Progress
) -> tuple[Search, Proposal]:
    """The exact join, or LSH if the join turns out to look at too many pairs."""
    exact, wanted = ExactSearch(choice, plan), rows.settings.search
    proposal = exact.propose(rows, sketches, progress)
    if surely_exact(wanted):  # however many pairs it looks at
        return exact, proposal
    count = _lookups(proposal)
    if is_close(choice, wanted, count, proposal.tied):
        del proposal  # two joins at once would take twice the memory
        # with hashes that are the same in every run
        count = _lookups(exact.propose(rows.under(PUBLIC), sketches, progress))
        proposal = exact.propose(rows, sketches, progress)
    choice = reconsider(choice, wanted, count)
    if choice.method == "exact":
        return exact, replace(proposal, choice=choice)
    lsh = LshSearch(choice, plan, proposal.exact.sets)
    del proposal
    return lsh, lsh.propose(rows, sketches, progress)


def _lookups(proposal: Proposal) -> int:
    index = proposal.exact.index
    return 0 if index is None else lookups(index, MOST_OF_A_LIST)
