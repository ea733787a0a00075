"""A run as a list of stages: each declares its records, and those that no later one reads are dropped."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from neardup.runtime import Advance, Progress

R = TypeVar("R")


@dataclass
class Meter:
    """Reports the steps of a run to ``progress`` and records their seconds."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """A step of the run; the seconds of steps with the same name add up."""
        begin = time.perf_counter()
        self.seconds.setdefault(name, 0.0)  # in the order in which they begin
        with self.progress.stage(name, total, unit) as advance:
            yield advance
        self.seconds[name] += time.perf_counter() - begin


class Need(NamedTuple):
    """A record that a stage reads: ``optional`` ones are None if no earlier stage gives them."""

    record: type
    optional: bool


@dataclass(frozen=True)
class Condition:
    """Whether a stage is in a run; ``words`` say when.

    ``holds`` are pairs of the type of a record, which has to be given to the run, and a test that it has to pass.
    """

    words: str
    holds: tuple[tuple[type, Callable[[Any], bool]], ...] = ()

    @classmethod
    def of(cls, words: str, record: type[R], holds: Callable[[R], bool] = lambda _: True) -> "Condition":
        """The condition that one record is given, and that this is true of it."""
        return cls(words, ((record, holds),))

    def is_met(self, given: Mapping[type, Any]) -> bool:
        """Whether the condition holds for these records."""
        return all(record in given and holds(given[record]) for record, holds in self.holds)


ALWAYS = Condition("")


@dataclass(frozen=True)
class Stage:
    """A function from records to records; the types of its parameters and its result declare them.

    A class gathers the records of its fields. A stage may give a record of a type that exists already; later
    stages read the new one. Records that the stage ``holds`` stay until it has ended, although it does not read
    them.

    >>> def double(length: int) -> float:
    ...     return 2.0 * length
    >>> Stage(double).needs, Stage(double).gives
    ((Need(record=<class 'int'>, optional=False),), (<class 'float'>,))
    """

    work: Callable[..., Any]
    when: Condition = ALWAYS
    holds: tuple[type, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function, in words."""
        return self.work.__name__.replace("_", " ")

    @property
    def summary(self) -> str:
        """Summary of the stage: the first sentence of the documentation of its function."""
        return (self.work.__doc__ or "").strip().partition("\n")[0]

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The records that the stage reads, in the order of its parameters."""
        work = self.work
        return _needs_of(work.__init__ if isinstance(work, type) else work)  # type: ignore[misc]

    @property
    def reads(self) -> tuple[type, ...]:
        """The records that are there while the stage works."""
        return (*(need.record for need in self.needs), *self.holds)

    @cached_property
    def gives(self) -> tuple[type, ...]:
        """The records that the stage makes."""
        if isinstance(self.work, type):
            return (self.work,)
        product = get_type_hints(self.work)["return"]
        return get_args(product) if get_origin(product) is tuple else (product,)


def _needs_of(work: Callable[..., Any]) -> tuple[Need, ...]:
    """The records that a function reads, in the order of its parameters."""
    hints = (hint for name, hint in get_type_hints(work).items() if name != "return")
    return tuple(Need(_record_of(hint), NoneType in get_args(hint)) for hint in hints)


def _record_of(hint: Any) -> Any:
    """The record of a parameter, of which it may also be None."""
    return next((each for each in get_args(hint) if each is not NoneType), hint)


class Pipeline:
    """Stages in order. The records ``given`` to it are there from the start, and those ``wanted`` at the end.

    Raises TypeError if a stage reads a record that no earlier stage gives.

    >>> def double(length: int) -> float:
    ...     return 2.0 * length
    >>> def described(size: float, name: str | None) -> bytes:
    ...     return f"{name or 'it'} is {size:g} long".encode()
    >>> Pipeline([Stage(double), Stage(described)], given=[int], wanted=[bytes]).run(21)
    [b'it is 42 long']
    >>> Pipeline([Stage(described)], given=[int], wanted=[bytes])
    Traceback (most recent call last):
    TypeError: the stage described reads float, which no earlier stage gives
    """

    def __init__(self, stages: Sequence[Stage], given: Sequence[type], wanted: Sequence[type]) -> None:
        self.stages, self._wanted = tuple(stages), tuple(wanted)
        known, self._last = set(given), dict.fromkeys(wanted, len(stages))
        for number, stage in enumerate(self.stages):
            for record, optional in stage.needs:
                if not optional and record not in known:
                    read = f"the stage {stage.name} reads {record.__name__}"
                    raise TypeError(f"{read}, which no earlier stage gives")
            for record in stage.reads:
                self._last[record] = max(number, self._last.get(record, 0))
            known.update(stage.gives)
        if lacking := [record.__name__ for record in wanted if record not in known]:
            raise TypeError(f"no stage gives {', '.join(lacking)}")

    @classmethod
    def of(cls, stages: Iterable[Stage], given: Sequence[Any], wanted: Sequence[type]) -> "Pipeline":
        """Those of the stages whose conditions hold for the given records.

        >>> def half(text: str) -> bytes:
        ...     return text[: len(text) // 2].encode()
        >>> some = [Stage(half, Condition.of("--long", str, lambda text: len(text) > 3))]
        >>> [len(Pipeline.of(some, [given], []).stages) for given in ("text", "in", 1)]
        [1, 0, 0]
        """
        records = {type(record): record for record in given}
        return cls([stage for stage in stages if stage.when.is_met(records)], tuple(records), wanted)

    def run(self, *given: Any) -> list[Any]:
        """Run the stages and return the wanted records. A record is dropped before its last reader has ended."""
        records: dict[type, Any] = {type(record): record for record in given}
        for number, stage in enumerate(self.stages):
            arguments = [records.get(need.record) for need in stage.needs]
            dropped = [records.pop(record, None) for record in stage.reads if self._last[record] == number]
            product = stage.work(*arguments)
            del arguments, dropped
            several = product if len(stage.gives) > 1 else (product,)
            for kind, record in zip(stage.gives, several, strict=True):
                if self._last.get(kind, -1) > number:
                    records[kind] = record
            del product, several, record
        return [records[record] for record in self._wanted]
