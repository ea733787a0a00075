"""The groups of a result under review as plain dictionaries, and filters evaluated over them one by one."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import neardup as nd
from neardup.collection.query.syntax import And, FieldClause, Node, Not, Or, WordsClause
from neardup.io.decisions.records import DecisionState

Group = dict[str, Any]

NUMBERS = ("size", "copies", "similarity", "stake", "lost")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    ":": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def reviewed(found: nd.Found, texts: Mapping[str, str], state: DecisionState) -> list[Group]:
    """The groups in the order of the result."""
    first = {
        **{id: id for id in texts},
        **dict(zip(*(found.copies[c].to_pylist() for c in ("id", "copy_of")), strict=True)),
    }
    members: dict[str, list[dict[str, Any]]] = {}
    for row in found.groups.to_pylist():
        members.setdefault(row["group"], []).append(row)
    kinds = {frozenset((row["id_a"], row["id_b"])): row["kind"] for row in found.pairs.to_pylist()}
    return [_described(name, rows, first, kinds, texts, state) for name, rows in members.items()]


def _described(
    name: str,
    rows: list[dict[str, Any]],
    first: Mapping[str, str],
    kinds: Mapping[frozenset[str], str],
    texts: Mapping[str, str],
    state: DecisionState,
) -> Group:
    ids = [row["id"] for row in rows]
    head = state.choices[name].id if name in state.choices else name
    near = near_of(ids, head, first)
    own = near_of(ids, name, first)
    values = [row["similarity"] for row in rows if row["id"] in (own or ids) and row["similarity"] is not None]
    gone = [row for row in rows if not row["kept"]]
    judged = [state.verdict(id, head) for id in near]
    verdicts = [decision.verdict for decision in judged if decision is not None]
    return {
        "ids": ids,
        "size": len(rows),
        "copies": len(rows) - 1 - len(own),
        "similarity": min(values) if values else math.nan,
        "stake": sum({first[row["id"]]: _lost_bytes(row, texts) for row in reversed(gone)}.values()),
        "lost": sum(row["lost_shingles"] or 0 for row in gone),
        "decided": "nothing"
        if not near
        else "yes"
        if len(verdicts) == len(near)
        else "partly"
        if verdicts
        else "no",
        "near": len(near),
        "count": len(verdicts),
        "verdict": set(verdicts),
        "kind": {kinds.get(frozenset((first[id], first[head]))) for id in near},
        "tag": {tag for id in ids for tag in state.tags.get(id, ())},
        "fate": {state.fates[id].fate for id in ids if id in state.fates},
        "id": set(ids),
        "texts": [texts[id] for id in ids],
    }


def near_of(ids: list[str], head: str, first: Mapping[str, str]) -> list[str]:
    """The members to judge: one of each text that is not that of the representative."""
    seen, near = {first[head]}, []
    for id in ids:
        if first[id] not in seen:
            near.append(id)
            seen.add(first[id])
    return near


def _lost_bytes(row: Mapping[str, Any], texts: Mapping[str, str]) -> int:
    lost, shingles = row["lost_shingles"] or 0, row["shingles"] or 0
    return round(len(texts[row["id"]].encode()) * (lost / shingles)) if lost else 0


def holds(node: Node, group: Group) -> bool:
    """Whether a filter finds a group."""
    match node:
        case And(parts):
            return all(holds(part, group) for part in parts)
        case Or(parts):
            return any(holds(part, group) for part in parts)
        case Not(part):
            return not holds(part, group)
        case WordsClause(words):
            return any(f" {words} " in f" {text} " for text in group["texts"])
        case FieldClause(field, how, value):
            if field in NUMBERS:
                known = not math.isnan(group[field])
                return known and COMPARED[how](group[field], float(Decimal(value)))
            if field == "decided":
                same = group[field] == value
            elif field == "kind":
                same = any(value in kind.split() for kind in group[field] if kind)
            else:
                same = value in group[field]
            return same != (how == "!=")
    raise AssertionError(node)


def kappa_of(verdicts: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa, chance counted: how often the first verdict on one pair equals the second on any pair."""
    total = len(verdicts)
    equal = Fraction(sum(one == other for one, other in verdicts), total)
    chance = Fraction(sum(one == other for one, _ in verdicts for _, other in verdicts), total * total)
    return None if chance == 1 else float((equal - chance) / (1 - chance))


def agreements_of(
    rows: Sequence[tuple[str, str, str, str]],
) -> dict[tuple[str, str], tuple[int, int, float | None]]:
    """Pairs, equal verdicts and kappa of each two people; a row: first and second reviewer, their verdicts."""
    people = sorted({row[:2] for row in rows})
    parts = {two: [row[2:] for row in rows if row[:2] == two] for two in people}
    order = sorted(people, key=lambda two: -len(parts[two]))
    return {
        two: (len(parts[two]), sum(one == other for one, other in parts[two]), kappa_of(parts[two]))
        for two in order
    }
