"""An option of a command: the source of the signature, the help and the reference page of the command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from neardup.settings import Field

REQUIRED = inspect.Parameter.empty

METAVARS = {float: "NUMBER", int: "NUMBER", str: "NAME"}


@dataclass(frozen=True)
class Option:
    """An option of a command, or an argument if it has no spelling."""

    name: str
    spelling: tuple[str, ...]
    type: Any
    default: Any
    help: str
    metavar: str | None = None

    @classmethod
    def of_field(cls, field: Field) -> Option:
        """Return the option of a setting."""
        text = f"{field.help} Allowed: {field.rule.allowed}."
        return cls(field.name, (field.option,), field.type, field.default, text, METAVARS[field.type])

    @property
    def shown(self) -> str:
        """The option as the reference page shows it."""
        if not self.spelling:
            return f"{self.metavar}"
        return ", ".join(self.spelling) + (f" {self.metavar}" if self.metavar else "")

    def parameter(self) -> inspect.Parameter:
        """Return the parameter that typer turns into this option."""
        declared: Any
        if self.spelling:
            declared = typer.Option(*self.spelling, help=self.help, metavar=self.metavar)
        else:
            declared = typer.Argument(help=self.help, metavar=self.metavar)
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, kind, default=self.default, annotation=Annotated[self.type, declared])


def with_options(command: Callable[..., None], options: Iterable[Option]) -> Callable[..., None]:
    """Give a command a signature made from ``options``, the only thing that typer reads.

    A command with a parameter ``explicit`` receives the names of the typed options.
    """
    wants_explicit = "explicit" in inspect.signature(command).parameters

    @functools.wraps(command)
    def declared(context: typer.Context, **values: Any) -> None:
        if wants_explicit:
            values["explicit"] = frozenset(name for name in values if _was_typed(context, name))
        command(**values)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [*(option.parameter() for option in options), context]
    face: Any = declared
    face.__signature__ = inspect.Signature(parameters, return_annotation=None)
    face.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return declared


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
