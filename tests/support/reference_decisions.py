"""The rules of decisions on groups in plain Python: every set is formed anew after every decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Pair = tuple[int, int]


def closure(start: Iterable[int], links: Iterable[Collection[int]]) -> frozenset[int]:
    """All that chains of ``links`` connect with ``start``."""
    found, links = set(start), [set(link) for link in links]
    while more := {one for link in links if link & found for one in link} - found:
        found |= more
    return frozenset(found)


def accepted(together: Sequence[Pair], apart: Sequence[Pair]) -> list[Pair]:
    """The pairs that may be together, the first of contradicting ones first."""
    links: list[Pair] = []
    for pair in together:
        bundle = closure(pair, [*links, pair])
        if not any(set(two) <= bundle for two in apart):
            links.append(pair)
    return links


def placed(
    heads: Sequence[int],
    rank: Sequence[int],
    decisions: Mapping[str, Sequence[Pair]],
    goes: Collection[int],
    alike: Collection[frozenset[int]],
) -> list[int]:
    """The representative of each row; ``decisions`` has the pairs ``together``, ``apart`` and ``chosen``."""
    apart = [frozenset(pair) for pair in decisions["apart"]]
    links = accepted(decisions["together"], decisions["apart"])
    groups = [{row for row, head in enumerate(heads) if head == one} for one in sorted(set(heads))]
    after = list(heads)
    for whole in {closure([head], [*groups, *links]) for head in heads}:
        named = [row for group, row in decisions["chosen"] if {group, row} <= whole and row not in goes]
        order = sorted(whole, key=lambda row: (row not in named[:1], row in goes, rank[row]))
        parts: list[set[int]] = []
        leads: list[int] = []
        for row in order:
            if any(row in part for part in parts):
                continue
            bundle = closure([row], links)
            former = {heads[one] for one in bundle}
            free = [
                number
                for number, part in enumerate(parts)
                if not any(len(two & bundle) == 1 and len(two & part) == 1 for two in apart)
            ]
            by_rank = sorted(bundle, key=order.index)
            homes = [n for one in by_rank for n, part in enumerate(parts) if heads[one] in part]
            if not any(former & part for part in parts):
                homes = [0] if parts else []
            homes = [number for number in homes if number in free]
            near = [
                n for n in free if any(one == leads[n] or frozenset((one, leads[n])) in alike for one in bundle)
            ]
            if homes or near:
                parts[(homes or near)[0]] |= bundle
            else:
                parts.append(set(bundle))
                leads.append(row)
        for part, lead in zip(parts, leads, strict=True):
            for row in part:
                after[row] = lead
    return after


def staying(
    heads: Sequence[int],
    rank: Sequence[int],
    kept: Collection[int],
    decisions: Mapping[str, Collection[int]],
    duplicates: Sequence[Pair],
) -> set[int]:
    """The rows that stay; ``decisions`` has the rows ``both``, ``stays`` and ``goes``."""
    goes = set(decisions["goes"])
    firm = (set(decisions["both"]) | set(decisions["stays"])) - goes
    after = (set(kept) | firm) - goes
    for bundle in {closure(pair, duplicates) for pair in duplicates}:
        may = bundle - goes
        certain = {row for row in may if row in firm or heads[row] == row}
        after -= bundle
        if not certain:
            certain = set(sorted(may & ((set(kept) | firm) - goes), key=lambda row: rank[row])[:1])
        after |= certain
    return after
