"""A page is followed as its reader does: what it installs, its files, commands and Python, each in a process.

Conventions of the pages:

- ``pip install …`` in code, anywhere on the page, names what the environment holds, beside Python itself. A page
  without it is for those who have installed the package alone.
- A block of commands is in no language, in ``console`` or in ``bash``. Lines after ``$ `` are what a command
  prints; ``...`` stands for any lines, and within a line for any text. Numbers of lines that begin with a word of
  ``VARYING`` differ between machines.
- The examples ``>>>`` of a page are one session. Every other block of Python is a program of its own.
- A comment ``<!-- file: NAME -->`` above a block of any language makes it a file of the reader.
- A comment ``<!-- printed -->`` above a block in no language makes it the output of the command before it.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.environments import environment_of, python_with
from support.paths import ROOT
from support.served import ask

VARYING = ("time  ", "memory  ", "would take  ", "seconds  ")
CLONE = "path/to/neardup"
"""How pages name the clone of the repository."""
_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^>]*?) -->\n)?^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S
)
_SHELL = ("", "console", "bash")
_INSTALLS = re.compile(r"pip install ([^`\n&]+)")
_SERVERS = ("neardup review ", "neardup serve ")
"""Commands that run until they are stopped; they are given any free port."""
_SECONDS = 300
_LOGGED = re.compile(r"[a-z][a-z ]* (?:starts\b|ends after |ends with status )")
"""The lines of a run of more than five seconds on standard error."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its mark, and the line of the page it begins at."""

    language: str
    text: str
    mark: str
    line: int

    @property
    def first(self) -> str:
        return self.text.partition("\n")[0]


@dataclass(frozen=True)
class Command:
    """A command of a shell, and the lines that the page shows after it; None if it shows none."""

    line: str
    shown: list[str] | None


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(one["language"], one["text"], one["mark"] or "", text.count("\n", 0, one.start()) + 1)
        for one in _FENCE.finditer(text)
    ]


def installed_by(page: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the extras and the other packages that a page installs."""
    extras: set[str] = set()
    others: set[str] = set()
    for words in _INSTALLS.findall(page.read_text(encoding="utf-8")):
        for word in words.partition("#")[0].replace("'", '"').split():
            if found := re.fullmatch(r'"?\.\[([\w,]+)\]"?', word):
                extras.update(found[1].split(","))
            elif word != ".":
                others.add(word.strip('"'))
    return frozenset(extras), frozenset(others)


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a block of a shell."""
    if not block.text.startswith("$ "):
        joined = block.text.replace("\\\n", " ")
        lines = (re.sub(r"(^|\s{2,})#.*", "", line).strip() for line in joined.splitlines())
        return [Command(line, None) for line in lines if line and "pip install" not in line]
    found = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, *shown = part.rstrip().splitlines()
        found.append(Command(re.sub(r"\s{2,}#.*", "", line), shown))
    return found


def is_shell(block: Block) -> bool:
    return block.language in _SHELL and not block.mark.startswith(("file:", "printed"))


@dataclass
class Reader:
    """Somebody who follows a page in an empty ``folder`` with the interpreter ``python``."""

    folder: Path
    python: Path
    printed: list[str] = field(default_factory=list)
    """The lines that the last command printed."""
    faults: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=lambda: {CLONE: str(ROOT)})
    """Names on pages that mean something of the reader, with what they are here."""
    variables: dict[str, str] = field(default_factory=dict)
    """Variables of the environment besides the usual ones."""

    @classmethod
    def of(cls, page: Path, folder: Path) -> Reader:
        return cls(folder, python_with(*installed_by(page)))

    def follow(self, page: Path, not_run: Sequence[str]) -> None:
        """Run the blocks of a page but those that begin with one of ``not_run``; ``faults`` has what differs."""
        session = []
        for block in blocks_of(page):
            if block.text.startswith(tuple(not_run)):
                continue
            before = len(self.faults)
            if block.mark.startswith("file:"):
                place = self.folder / block.mark.removeprefix("file:").strip()
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(block.text, encoding="utf-8")
            elif block.mark == "printed":
                self.compare("the command above", block.text.splitlines(), self.printed)
            elif block.text.startswith(">>> "):
                session.append(block.text)
            elif block.language == "python":
                self.run([str(self.python), "-c", block.text], block.first)
            elif is_shell(block):
                for command in commands_of(block):
                    self.type(command)
            for number in range(before, len(self.faults)):
                self.faults[number] = f"{page.name}:{block.line}: {self.faults[number]}"
        if session:
            self.examples(page, "\n".join(session))

    def type(self, command: Command) -> None:
        """Run a command, and compare its output with the page."""
        line = command.line
        for name, here in self.names.items():
            line = line.replace(name, here)
        if line.startswith(_SERVERS):
            self.serve(f"exec {line} --port 0", command)
        elif self.run(["bash", "-c", line], command.line, refused=_is_refusal(command)) and command.shown:
            self.compare(command.line, command.shown, self.printed)

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.python, self.folder) | self.variables

    def serve(self, line: str, command: Command) -> None:
        """Start a server, wait until it has said where it answers, decide there, and stop it as people do."""
        with subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            told = iter(process.stdout.readline, "")
            self.printed = [next((row for row in told if "http://" in row), "").rstrip()]
            if found := re.search(r'http://([^\s",]+)', self.printed[0]):
                _decide(found[1])
            process.send_signal(signal.SIGINT)
            self.printed += process.stdout.read().splitlines()
        if process.returncode not in (0, 130) or "http://" not in self.printed[0]:
            self.faults.append("\n  ".join([f"{command.line}\n  ended with {process.returncode}", *self.printed]))
        elif command.shown:
            self.compare(command.line, command.shown, self.printed[:1])

    def run(self, words: Sequence[str], name: str, refused: bool = False) -> bool:
        """Run a process; whether it ended as the page has it."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self.printed = (done.stdout + done.stderr).rstrip().splitlines()
        if (done.returncode > 1) == refused and "Traceback" not in done.stderr:
            return True
        self.faults.append("\n  ".join([f"{name}\n  ended with {done.returncode}", *self.printed[-12:]]))
        return False

    def compare(self, name: str, shown: Sequence[str], printed: Sequence[str]) -> None:
        """Note the first line of ``shown`` that was not printed after the one before it."""
        wanted = [re.compile(".*".join(map(re.escape, _constant(line).split("...")))) for line in shown]
        got = [*map(_constant, printed)]
        rest = iter(got)
        for line, pattern in zip(shown, wanted, strict=True):
            if line.strip() not in ("", "...") and not any(map(pattern.fullmatch, rest)):
                self.faults.append("\n  ".join([f"{name}\n  does not print: {line}", *printed[-60:]]))
                return
        said = [line for line in got if not _LOGGED.match(line)]  # slow machines log
        if "..." not in shown and len(shown) not in (len(got), len(said)):
            self.faults.append("\n  ".join([f"{name}\n  prints more", *printed[-60:]]))

    def examples(self, page: Path, text: str) -> None:
        """Run the examples ``>>>`` of a page as one session."""
        path = self.folder.parent / f"{page.stem}.txt"
        path.write_text(text, encoding="utf-8")
        code = "import doctest, sys; sys.exit(min(2 * doctest.testfile(sys.argv[1], False, optionflags=8)[0], 2))"
        self.run([str(self.python), "-c", code, str(path)], f"{page.name}: the examples")


def _decide(host: str) -> None:
    """Decide about the first undecided pair of a review that lets everybody in."""
    status, text, _ = ask(host, "GET", "/queues/undecided")
    if status == 200 and (pair := re.search(r"/pairs/(\d+)/(\d+)", text)):
        form = {"asked": "pair", "a": pair[1], "b": pair[2], "seen": 0, "verdict": "keep both"}
        assert ask(host, "POST", "/decide", form)[0] == 303


def _is_refusal(command: Command) -> bool:
    return any(line.startswith("error: ") for line in command.shown or ())


def _constant(line: str) -> str:
    line = next((start for start in VARYING if line.startswith(start)), line.rstrip())
    return re.sub(r"(http://127\.0\.0\.1):\d+", r"\1:PORT", line)


def pages() -> Iterator[Path]:
    """README, the tutorials, the guides, the explanations and the reference."""
    yield ROOT / "README.md"
    for folder in ("tutorial", "howto", "explanation", "reference"):
        yield from sorted((ROOT / "docs" / folder).glob("*.md"))
