"""Run the tests that execute a line changed since a base: ``scripts/test --change [BASE]``.

The map from lines to tests is that of ``scripts/test --map``. Lines are followed from the commit of the map to
the working tree. A changed test file runs itself. A changed module that the map does not have, such as a compiled
kernel or a new file, is covered by the tests that import it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MAP = ROOT / ".testmap"
SECONDS = 30.0
"""Processor time of the chosen tests, as the map knows it; the tests that are specific and quick come first."""
OLD = 300
"""Commits between the map and the working tree from which on a new map is advised."""
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Hunk(NamedTuple):
    """A stretch of lines before and after a change, and the difference of the numbers of the lines that follow."""

    old: range
    new: range
    shift: int


def git(*arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout


def base_of(named: str) -> str:
    """Return the commit to compare with: the one named, or where this branch left main, or else HEAD."""
    if named:
        return git("rev-parse", "--verify", f"{named}^{{commit}}").strip()
    try:
        return git("merge-base", "main", "HEAD").strip()
    except subprocess.CalledProcessError:
        return git("rev-parse", "HEAD").strip()


def changed_files(base: str) -> list[str]:
    """Return the files that differ from the base, with new ones that git does not know."""
    known = git("diff", "--name-only", "--no-renames", base).splitlines()
    return sorted({*known, *git("ls-files", "--others", "--exclude-standard").splitlines()})


def hunks(commit: str, file: str) -> list[Hunk]:
    """Return the stretches of lines that differ between a commit and the working tree."""
    stretches = []
    for matched in HUNK.finditer(git("diff", "-U0", "--no-renames", commit, "--", file)):
        begin, size, new_begin, new_size = (1 if part is None else int(part) for part in matched.groups())
        # where a side has no lines, git names the line before; the test of that line or of the next one is wanted
        old = range(begin, begin + (size or 2))
        new = range(new_begin, new_begin + (new_size or 2))
        stretches.append(Hunk(old, new, old.stop - (not size) - new.stop + (not new_size)))
    return stretches


def in_map(lines: Iterable[int], since_map: list[Hunk]) -> set[int]:
    """Return the lines of the map's commit that lines of the working tree were."""
    before: set[int] = set()
    for line in lines:
        shift = 0
        for hunk in since_map:
            if line in hunk.new:
                before |= {*hunk.old}
                break
            if line < hunk.new.start:
                before.add(line + shift)
                break
            shift = hunk.shift
        else:
            before.add(line + shift)
    return before


def enclosing(source: str, lines: set[int]) -> set[int]:
    """Return the lines of the innermost functions or classes around lines that only an import executes."""
    spans = [
        range(
            min([node.lineno, *(one.lineno for one in node.decorator_list)]), (node.end_lineno or node.lineno) + 1
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    around = [min((span for span in spans if line in span), key=len, default=range(0)) for line in lines]
    return {line for span in around for line in span}


class Map:
    """Which test executes which line, with its processor time."""

    def __init__(self) -> None:
        """Read the map.

        Raises:
            FileNotFoundError: There is none.
        """
        times = json.loads((MAP / "times.json").read_text(encoding="utf-8"))
        self.commit: str = times["commit"]
        self.seconds: dict[str, float] = times["seconds"]
        from coverage import CoverageData  # not in the environment of the short run, nor needed without a map

        self.data = CoverageData(str(MAP / "lines"))
        self.data.read()

    def tests(self, file: str, lines: Iterable[int]) -> Counter[str]:
        """Return the tests that execute some of the lines of a file, with the number of these lines."""
        wanted = set(lines)
        contexts = self.data.contexts_by_lineno(file)
        return Counter(test for line, tests in contexts.items() if line in wanted for test in tests if test)

    def has(self, file: str) -> bool:
        """Whether a test executes a line of the file."""
        return any(test for tests in self.data.contexts_by_lineno(file).values() for test in tests)

    def covering(self, base: str, file: str) -> Counter[str]:
        """Return the tests that execute the changed lines of a file."""
        now = {line for hunk in hunks(base, file) for line in hunk.new}
        return self.covering_lines(file, now)

    def covering_lines(self, file: str, now: set[int]) -> Counter[str]:
        """Return the tests that execute lines of the working tree, or the function or the module around them."""
        lines = in_map(now, hunks(self.commit, file))
        tests = self.tests(file, lines)
        if tests:
            return tests
        before = git("show", f"{self.commit}:{file}")
        return self.tests(file, enclosing(before, lines)) or self.tests(file, range(1, len(before)))


@cache
def imported(path: Path) -> set[str]:
    """Return the modules that a file names in its imports, each with its packages."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
    return names


def importers(modules: set[str]) -> Iterator[str]:
    """Yield the test files that import one of the modules, themselves or by a helper of the tests."""
    of_file = {path: imported(path) for path in sorted((ROOT / "tests").rglob("*.py"))}
    wanted = set(modules)
    while (
        more := {
            f"support.{path.stem}"
            for path, names in of_file.items()
            if path.parent.name == "support" and names & wanted
        }
        - wanted
    ):
        wanted |= more
    for path, names in of_file.items():
        if path.name.startswith("test_") and names & wanted:
            yield path.relative_to(ROOT).as_posix()


def module_of(file: str) -> str:
    """Return the name of a module of the package or of the helpers of the tests."""
    parts = Path(file).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exists(test: str) -> bool:
    """Whether a test of the map is there still."""
    path = ROOT / test.partition("::")[0]
    name = test.rpartition("::")[2]
    return path.exists() and (name == "runTest" or f"def {name}(" in path.read_text(encoding="utf-8"))


def quick(tests: Counter[str], seconds: dict[str, float], limit: float = SECONDS) -> tuple[list[str], float]:
    """Return the tests of a file each in turn, those with most changed lines a second first, and their time."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda name: (-tests[name] / (seconds.get(name, 1.0) + 0.05), name)):
        by_file[test.partition("::")[0]].append(test)
    turns = sorted(
        (turn, order, test) for order, own in enumerate(by_file.values()) for turn, test in enumerate(own)
    )
    chosen, total = [], 0.0
    for _, _, test in turns:
        if not exists(test):
            continue
        cost = seconds.get(test, 1.0)
        if total + cost <= limit:
            chosen.append(test)
            total += cost
    return sorted(chosen), total


def choose(base: str, tests: Map | None) -> list[str]:
    """Return what pytest is to run, and print why."""
    files = changed_files(base)
    covering: Counter[str] = Counter()
    whole = {file for file in files if re.fullmatch(r"tests/.*/test_\w+\.py", file) and (ROOT / file).exists()}
    unmapped = {module_of(file) for file in files if re.fullmatch(r"tests/support/\w+\.py", file)}
    for file in files:
        if not re.fullmatch(r"src/neardup/.*\.py", file):
            continue
        if tests is not None and tests.has(file):
            covering += tests.covering(base, file)
        else:
            unmapped.add(module_of(file))
    by_import = set(importers(unmapped)) if unmapped else set()
    if unmapped:
        print(f"not in the map: {', '.join(sorted(unmapped))}; {len(by_import)} test files import them")
    chosen, total = quick(covering, tests.seconds if tests is not None else {})
    whole |= by_import
    chosen = [test for test in chosen if test.partition("::")[0] not in whole]
    print(
        f"{len(files)} files differ from {base[:8]}; {len(covering)} tests execute changed lines: {len(chosen)} "
        f"of them run (about {total:.0f} s), and {len(whole)} test files; ./scripts/test runs more"
    )
    return [*sorted(whole), *chosen]


def main() -> int:
    """Choose, and run pytest; without a test to run, say so."""
    base = base_of(sys.argv[1] if len(sys.argv) > 1 else "")
    try:
        tests: Map | None = Map()
    except FileNotFoundError:
        tests = None
        print("there is no map: tests are chosen by imports; ./scripts/test --map makes one", file=sys.stderr)
    if tests is not None and (age := int(git("rev-list", "--count", f"{tests.commit}..HEAD"))) > OLD:
        print(f"the map is {age} commits old; ./scripts/test --map makes a new one", file=sys.stderr)
    chosen = choose(base, tests)
    if not chosen:
        print("no test covers the change; ./scripts/test runs all of the short run")
        return 0
    sys.stdout.flush()
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *sys.argv[2:], *chosen], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
