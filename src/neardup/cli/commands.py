"""The table of all commands: the purpose of each, its record of options, and the function that receives it.

The documentation of a record is the help of its command. A function is loaded when its command runs.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from neardup.cli.option import CommandOptions, Option, options_of
from neardup.cli.options import on_collections, on_files, on_results, on_samples
from neardup.cli.options.general import LogOptions

LOOK = "look"
"""The command that bare inputs run; the help does not list it."""

EXAMPLES = (
    ("neardup posts.jsonl", "the ten largest groups of near copies; nothing is written"),
    ("neardup dedup posts.jsonl -o cleaned", "the kept documents, and the evidence"),
)
"""Two examples at the end of the help: what to type, and the effect."""


OF_LONG_WORK = ("quiet", "json", "threads", "memory", "resume", "predict")
"""The options that each command has whose work may take long, or says in its page why not."""
COLLECTION = "collection"
"""The word before the commands of a collection."""


@dataclass(frozen=True)
class Command:
    """A command: its record of options, and the module and name of its function."""

    record: type[CommandOptions]
    function: str

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The options, in the order of the record."""
        return options_of(self.record)

    @property
    def help(self) -> str:
        """The help: a line, and paragraphs."""
        return inspect.getdoc(self.record) or ""

    @property
    def summary(self) -> str:
        """The first line of the help."""
        return self.help.partition("\n")[0]

    @property
    def log_options(self) -> tuple[Option, ...]:
        """The options of its log; none if its work takes no time."""
        given = {option.spelling[-1].removeprefix("--") for option in self.options if option.spelling}
        if not {*OF_LONG_WORK} <= given | self.record.WITHOUT.keys():
            return ()
        # status 1 of verify is a difference, not a rejected row
        is_verify = self.function == "results.verify"
        return tuple(one for one in options_of(LogOptions) if not (is_verify and one.name == "strict"))

    def load(self) -> Callable[[Any], int]:
        """Return the function, which receives a record and returns an exit status."""
        from importlib import import_module

        module, _, name = self.function.partition(".")
        function: Callable[[Any], int] = getattr(import_module(f"neardup.cli.{module}"), name)
        return function


PURPOSES: Mapping[str, Mapping[str, Command]] = {
    "Find near copies": {
        "dedup": Command(on_files.DedupOptions, "runs.dedup"),
        "group": Command(on_files.GroupOptions, "runs.group"),
        "decontaminate": Command(on_files.DecontaminateOptions, "decontamination.decontaminate"),
        "pairs": Command(on_files.PairsOptions, "runs.pairs"),
        "passages": Command(on_files.PassagesOptions, "repetition.passages"),
        "plan": Command(on_samples.PlanOptions, "plan.plan"),
        "compare": Command(on_samples.CompareOptions, "documents.compare"),
        "explain": Command(on_samples.ExplainOptions, "documents.explain"),
        "demo": Command(on_samples.DemoOptions, "runs.demo"),
    },
    "Look at a result": {
        "show": Command(on_results.ShowOptions, "results.show"),
        "verify": Command(on_results.VerifyOptions, "results.verify"),
        "report": Command(on_results.ReportOptions, "results.report"),
        "review": Command(on_results.ReviewOptions, "servers.review"),
        "apply": Command(on_results.ApplyOptions, "results.apply"),
        "regroup": Command(on_results.RegroupOptions, "results.regroup"),
        "export": Command(on_results.ExportOptions, "results.export"),
        "import": Command(on_results.ImportOptions, "results.import_tags"),
    },
    "In parts, and new documents every day": {
        "fingerprint": Command(on_files.FingerprintOptions, "parts.fingerprint"),
        "merge": Command(on_files.MergeOptions, "parts.merge"),
        "part": Command(on_files.PartOptions, "parts.part"),
    },
    "Servers": {
        "serve": Command(on_collections.ServeOptions, "servers.serve"),
        "mcp": Command(on_collections.McpOptions, "servers.mcp"),
    },
}
"""The commands by purpose, in the order of the help."""


ON_COLLECTIONS: Mapping[str, Command] = {
    "add": Command(on_collections.AddOptions, "collection.add"),
    "remove": Command(on_collections.RemoveOptions, "collection.remove"),
    "list": Command(on_collections.ListOptions, "collection.list_documents"),
    "search": Command(on_collections.SearchOptions, "collection.search"),
    "groups": Command(on_collections.GroupsOptions, "collection.groups"),
    "decide": Command(on_collections.DecideOptions, "collection.decide"),
    "tag": Command(on_collections.TagOptions, "collection.tag"),
    "info": Command(on_collections.InfoOptions, "collection.info"),
    "check": Command(on_collections.CheckOptions, "collection.check"),
    "compact": Command(on_collections.CompactOptions, "collection.compact"),
    "backup": Command(on_collections.BackupOptions, "collection.backup"),
}
"""The commands of a collection by their second word, in the order of the help."""

COMMANDS: Mapping[str, Command] = {
    **{name: command for commands in PURPOSES.values() for name, command in commands.items()},
    **{f"{COLLECTION} {name}": command for name, command in ON_COLLECTIONS.items()},
    LOOK: Command(on_files.LookOptions, "runs.look"),
}
"""All commands by name; those of a collection have two words."""
