"""Seed faults of one line, and compare the catch of the short run with that of all tests.

``scripts/mutants.py [--short] [NUMBER …]`` runs the faults of scripts/mutants.txt, all or those numbered, each in
a copy of the last commit: first the tests of the short run that may see it, by the map of ``scripts/test --map``
or imports, then the others. With ``--short``: only the quickest, one minute at most. ``--draw SEED`` prints a new
list. An entry has a file, a line without its indentation, and what replaces it, so that the list stays valid when
lines move. A fault whose file lost the line is looked for in the whole package, and reported as gone when it is
not there.
"""

from __future__ import annotations

import ast
import io
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from change import ROOT, Map, importers, module_of, quick

sys.path.insert(0, str(ROOT / "tests"))
from support.short_run import choice

LIST = ROOT / "scripts" / "mutants.txt"
DRAWN = {
    "join": 7,
    "group": 4,
    "io": 9,
    "collection": 7,
    "sketch": 4,
    "lsh": 4,
    "comparison": 5,
    "run": 6,
    "review": 3,
    "service": 2,
    "settings": 2,
    "text": 3,
    "kernels": 4,
}
"""Faults of each package."""
OTHERWISE = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "and": "or", "or": "and", "min": "max",
    "max": "min", "True": "False", "False": "True", "0": "1", "1": "2", "+": "-", "-": "+", "continue": "break",
}  # fmt: skip
"""The word that replaces another one."""
LIMIT = 400
"""Seconds of processor time of one process, after which a fault counts as seen: it loops."""


class Mutant(NamedTuple):
    """A fault of one line."""

    file: str
    line: str
    replacement: str


def read_list() -> list[Mutant]:
    """Return the stored faults."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [Mutant(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def place(mutant: Mutant, root: Path) -> tuple[str, int]:
    """Return the file of a fault below a root, and the index of its line.

    Raises:
        ValueError: No file has the line once, or several have.
    """
    others = (path.relative_to(root).as_posix() for path in sorted((root / "src" / "neardup").rglob("*.py")))
    for files in ([mutant.file], others):
        places = [
            (file, k)
            for file in files
            if (root / file).exists()
            for k, line in enumerate((root / file).read_text(encoding="utf-8").splitlines())
            if line.strip() == mutant.line
        ]
        if len(places) == 1:
            return places[0]
    raise ValueError(f"{len(places)} lines of the package are {mutant.line!r}, not one")


def faults(file: Path) -> Iterator[Mutant]:
    """Yield the faults that a file may have: one word of one line inside a function, or a call left out."""
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    inside: set[int] = set()
    calls: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            inside |= {*range(node.body[0].lineno, (node.end_lineno or 0) + 1)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.lineno == node.end_lineno:
            calls.add(node.lineno)
    name = file.relative_to(ROOT).as_posix()
    once = [line.strip() for line in lines]
    for number in sorted(calls & inside):
        if once.count(once[number - 1]) == 1:
            yield Mutant(name, once[number - 1], "pass")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, column = token.start
        line = lines[number - 1] if number <= len(lines) else ""
        if token.string not in OTHERWISE or number not in inside or once.count(line.strip()) != 1:
            continue
        if re.match(r"\s*(raise|assert|def|class|import|from|@)\b", line) or "->" in line:
            continue
        before, after = line[:column].lstrip(), line[column + len(token.string) :]
        yield Mutant(name, line.strip(), before + OTHERWISE[token.string] + after)


def draw(seed: int) -> list[Mutant]:
    """Return new faults, at most one of a file."""
    chance = random.Random(seed)
    drawn = []
    for package, number in DRAWN.items():
        files = sorted((ROOT / "src" / "neardup" / package).rglob("*.py"))
        chance.shuffle(files)
        of_files = (list(faults(file)) for file in files if file.name != "__init__.py")
        possible = (chance.choice(of_file) for of_file in of_files if len(of_file) >= 5)
        drawn += [next(possible) for _ in range(number)]
    return drawn


class Tests(NamedTuple):
    """The tests that may see a fault, in the order in which they run."""

    quick: list[str]
    """Of the short run, those that reach the line in the least time."""
    short: list[str]
    """The rest of the short run."""
    others: list[str]


def tests_of(file: str, line: int, tests: Map | None) -> Tests:
    """Return the tests that may see a fault."""
    chosen = choice()
    by_import = sorted(name for name in importers({module_of(file)}) if "/house/" not in name)
    covering = tests.covering_lines(file, {line}) if tests is not None else None
    if tests is None or not covering:
        by_import = by_import or sorted(importers({module_of(file).rpartition(".")[0]}))[:20]
        return Tests([name for name in by_import if name in chosen], [], [n for n in by_import if n not in chosen])
    short = Counter({name: lines for name, lines in covering.items() if name in chosen})
    first, _ = quick(short, tests.seconds, 60)
    # the map has the tests of the short run; what else imports the module may reach the line, too
    return Tests(first, sorted(set(short) - set(first)), [name for name in by_import if name not in chosen])


def run(folder: Path, names: list[str], short: bool, left_out: Iterable[str] = ()) -> str:
    """Return the first test that fails in the copy; "" if all pass."""
    names = [name for name in names if (folder / name.partition("::")[0]).exists()]
    if not names:
        return ""
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / 'tests'}"}
    environment |= {"PYTHONHASHSEED": "0", "NEARDUP_SHARED_DATA": str(folder / "none")}
    if short:
        environment["NEARDUP_SHORT"] = "1"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += [f"--deselect={name}" for name in left_out]
    done = subprocess.run(
        [*command, *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
    )
    if done.returncode in (0, 5):
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else names[0]


def first_failing(folder: Path, mutant: Mutant, names: list[str], short: bool) -> str:
    """Return the first test that fails with the fault and passes without it; "" if none does."""
    file, number = place(mutant, folder)
    path = folder / file
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines[number] = indent + mutant.replacement
    left_out: list[str] = []
    while True:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            failed = run(folder, names, short, left_out)
        finally:
            path.write_text(before, encoding="utf-8")
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()  # a file of the same size in the same second would count as compiled
        if not failed or not run(folder, [failed], short):
            return failed
        if failed in left_out:
            return ""
        left_out.append(failed)


def judge(folder: Path, mutant: Mutant, tests: Map | None, short_only: bool) -> tuple[str, str]:
    """Return which tests see a fault, "short", "all" or "none", and the first one that fails."""
    file, number = place(mutant, folder)
    choices = tests_of(file, number + 1, tests)
    if short_only:
        choices = Tests(choices.quick, [], [])
    for names, short in ((choices.quick, True), (choices.short, True), (choices.others, False)):
        if failed := first_failing(folder, mutant, names, short):
            return "short" if short else "all", failed
    return "none", f"of {sum(map(len, choices))}"


def main() -> int:
    """Draw a list, or run one."""
    if sys.argv[1:2] == ["--draw"]:
        for mutant in draw(int(sys.argv[2])):
            print("\t".join(mutant))
        return 0
    try:
        tests: Map | None = Map()
    except FileNotFoundError:
        tests = None
        print("there is no map (./scripts/test --map): tests are chosen by imports", file=sys.stderr)
    mutants = read_list()
    numbers = [int(word) for word in sys.argv[1:] if word != "--short"] or range(1, len(mutants) + 1)
    print(f"{time.strftime('%Y-%m-%d')}, {len(mutants)} faults in the list\n")
    print("| fault | file | line | replacement | seen by | test | s |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), name], check=True)
        for number in numbers:
            mutant = mutants[number - 1]
            begin = sum(os.times()[:4])
            try:
                file, _ = place(mutant, folder)
                seen, test = judge(folder, mutant, tests, "--short" in sys.argv)
            except ValueError:
                file, seen, test = mutant.file, "gone", ""
            seconds = sum(os.times()[:4]) - begin
            cells = (part.replace("|", "\\|") for part in mutant[1:])
            print(f"| {number} | {file} | `{'` | `'.join(cells)}` | {seen} | {test} | {seconds:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
