"""Nested fields of JSON: the types by which msgspec decodes them, and the values at the ends of paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers.fields import EACH, JOINED, FieldPath, Step

UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')
"""In the name of a field that msgspec cannot look up: it is written out but cannot be chosen."""

Tree = dict[Any, Any]
"""The fields below a node, by step; a leaf is its type."""


@dataclass(frozen=True)
class JsonFields:
    """Virtual columns of JSON lines: ``types`` of the fields that are decoded, and the steps of each column."""

    types: Mapping[str, Any]
    columns: Mapping[str, tuple[tuple[str, tuple[Step, ...]], ...]]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[FieldPath]], id: str | None) -> JsonFields:
        """Return the fields of virtual ``columns``; the values of the column ``id`` may be integers.

        Raises InputError for paths that contradict each other.
        """
        tree: Tree = {}
        for name, paths in columns.items():
            for path in paths:
                _grow(tree, path, int | str | None if name == id else str | None)
        types = {root: _type_of(node) for root, node in tree.items()}
        steps = {
            name: tuple((path.root, _attributes(tree[path.root], path.steps)) for path in paths)
            for name, paths in columns.items()
        }
        return cls(types, steps)

    def text(self, name: str, roots: Mapping[str, Any]) -> str | None:
        """Return the joined parts of one line, given its decoded fields; None without any."""
        parts = [part for root, steps in self.columns[name] for part in _values(roots[root], steps)]
        return JOINED.join(map(str, parts)) if parts else None

    def id(self, name: str, roots: Mapping[str, Any]) -> Any:
        """Return the id of one line, given its decoded fields."""
        [(root, steps)] = self.columns[name]
        return next(_values(roots[root], steps), None)


def _grow(tree: Tree, path: FieldPath, leaf: Any) -> None:
    node, names = tree, (path.root, *path.steps)
    for number, name in enumerate(names, 1):
        if name is not EACH and UNNAMEABLE.search(name):
            raise InputError(
                f'The field "{printable(path.spelled)}" cannot be chosen',
                'Names without ", \\ and control characters',
                "Rename the field",
            )
        last, known = number == len(names), node.get(name)
        if (node and (name is EACH) != (EACH in node)) or (known is not None and isinstance(known, dict) == last):
            raise _contradicted(path)
        if last:
            node[name] = leaf if known is None else known | leaf
        else:
            node = node.setdefault(name, {})


def _contradicted(path: FieldPath) -> InputError:
    return InputError(
        f'"{path.spelled}" takes a field for something else than another name does',
        "A field is a text, a record or a list",
        "Name each field in one way",
    )


def _type_of(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if EACH in node:
        return list[_type_of(node[EACH])] | None  # type: ignore[misc]
    fields = [(f"f{number}", _type_of(below), None) for number, below in enumerate(node.values())]
    rename = {f"f{number}": name for number, name in enumerate(node)}
    return msgspec.defstruct("Record", fields, rename=rename, gc=False) | None


def _attributes(node: Any, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with the attribute of the struct in place of the name of each field."""
    found: list[Step] = []
    for step in steps:
        found.append(EACH if step is EACH else f"f{list(node).index(step)}")
        node = node[step]
    return tuple(found)


def _values(value: Any, steps: Sequence[Step]) -> Iterator[Any]:
    if value is None:
        return
    if not steps:
        yield value
    elif steps[0] is EACH:
        for item in value:
            yield from _values(item, steps[1:])
    else:
        yield from _values(getattr(value, steps[0]), steps[1:])
