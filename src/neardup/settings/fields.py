"""A field of a settings record: its row in the table of all settings, and its declaration."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from neardup.settings.rules import Rule, listed


@dataclass(frozen=True)
class Field:
    """One row of the table of settings.

    ``many``: several values of the type may be given. ``panel``: the purpose under which the help shows it.
    ``metavar``: the word for a value in the help; "" for a name or a number.
    """

    record: str
    name: str
    default: Any
    type: type
    rule: Rule
    help: str
    many: bool = False
    panel: str = ""
    metavar: str = ""

    @property
    def written(self) -> Any:
        """The type of a value on the command line, before ``rule.read``."""
        return self.type if self.rule.read is None else str

    @property
    def option(self) -> str:
        """The spelling on the command line, for example ``--only-contained``."""
        return "--" + self.name.replace("_", "-")

    def right_type(self, value: Any) -> bool:
        """Whether ``value`` is of the type of the setting, or a list of such values if it may be several."""
        accepted = (int, float) if self.type is float else (self.type,)
        given = listed(value) if self.many else (self.rule.value(value),)
        return all(isinstance(one, accepted) and (self.type is bool or type(one) is not bool) for one in given)

    def canonical(self, value: Any) -> Any:
        """Return an allowed value as the records hold it: several as a tuple, one ``keep`` policy as itself."""
        if not self.many:
            return self.type(self.rule.value(value))
        values = tuple(map(self.type, listed(value)))
        return values[0] if len(values) == 1 and isinstance(self.default, self.type) else values


def setting(default: Any, rule: Rule, text: str, *, many: bool = False, panel: str = "", metavar: str = "") -> Any:
    """Return the declaration of a field of a record; without ``panel`` it has the ``PANEL`` of its record."""
    described = {"rule": rule, "help": text, "many": many, "panel": panel, "metavar": metavar}
    return dataclasses.field(default=default, metadata=described)


INPUT, ACCESS, COMPARED, SEARCH, GROUPS = "Input", "Access", "What is compared", "Search", "Groups"
STAY, EARLIER, OUTPUT, WORK, OTHER = "Documents that stay", "Earlier results", "Output", "Work", "Help"

PANELS = (INPUT, ACCESS, COMPARED, SEARCH, GROUPS, STAY, EARLIER, OUTPUT, WORK, OTHER)
"""The purposes, in the order of the help."""
