"""Seed faults of one line, and compare the catch of the short run with that of all tests.

``scripts/mutants.py [NUMBER …]`` runs the faults of scripts/mutants.txt, all or those numbered, each in a copy of
the last commit: first the tests of the short run that may see it, by the map of ``scripts/test --map`` or imports,
then the others. ``--draw SEED`` prints a new list. An entry has a file, a line without its indentation, and what
replaces it, so that the list stays valid when lines move. A fault whose line has changed is reported as gone.
"""

from __future__ import annotations

import ast
import io
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
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


def place(mutant: Mutant, text: str) -> int:
    """Return the index of the line of a fault.

    Raises:
        ValueError: The line is not in the file, or there are several.
    """
    places = [k for k, line in enumerate(text.splitlines()) if line.strip() == mutant.line]
    if len(places) != 1:
        raise ValueError(f"{mutant.file} has {len(places)} lines {mutant.line!r}, not one")
    return places[0]


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


def tests_of(mutant: Mutant, line: int, tests: Map | None) -> tuple[list[str], list[str]]:
    """Return the tests of the short run that may see a fault, and the others."""
    chosen = choice()
    covering = tests.covering_lines(mutant.file, {line}) if tests is not None else None
    by_import = sorted(name for name in importers({module_of(mutant.file)}) if "/house/" not in name)
    if not covering or tests is None:
        if not by_import:
            package = module_of(mutant.file).rpartition(".")[0]
            by_import = sorted(importers({package}))[:20]
        return [name for name in by_import if name in chosen], [name for name in by_import if name not in chosen]
    short, _ = quick(covering, tests.seconds, 60)
    short = [name for name in short if name in chosen]
    others = [name for name in [*covering, *by_import] if name not in chosen]
    return short, others


def run(folder: Path, names: list[str], kernels: bool, short: bool) -> str:
    """Return the first test that fails in the copy; "" if all pass."""
    names = [name for name in names if (folder / name.partition("::")[0]).exists()]
    if not names:
        return ""
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / 'tests'}"}
    environment |= {"PYTHONHASHSEED": "0", "NEARDUP_SHARED_DATA": str(folder / "none")}
    if short:
        environment["NEARDUP_SHORT"] = "1"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    if kernels:
        environment["NUMBA_DISABLE_JIT"] = "1"
        command += ["-p", "support.interpreted", "-W", "ignore:overflow encountered:RuntimeWarning"]
        command += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    done = subprocess.run(
        [*command, *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
    )
    if done.returncode not in (0, 1, 2, 5) and done.returncode > 0:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    if done.returncode in (0, 5):
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else names[0]


def judge(mutant: Mutant, tests: Map | None) -> tuple[str, float]:
    """Return which tests see a fault, "short", "all" or "none", and the processor time that it took."""
    begin = sum(os.times()[:4])
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    try:
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(folder)], check=True)
        path = folder / mutant.file
        lines = path.read_text(encoding="utf-8").splitlines()
        number = place(mutant, path.read_text(encoding="utf-8"))
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        changed = [*lines[:number], indent + mutant.replacement, *lines[number + 1 :]]
        path.write_text("\n".join(changed) + "\n", encoding="utf-8")
        short, others = tests_of(mutant, number + 1, tests)
        kernels = "/kernels/" in mutant.file
        seen = "short"
        failed = run(folder, short, kernels, True)
        if not failed:
            failed = run(folder, others, kernels, False)
            seen = "all" if failed else "none"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if failed and run(folder, [failed], kernels, seen == "short"):
            seen = "unclear: the test fails without the fault, too"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return seen, sum(os.times()[:4]) - begin


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
    print(f"{time.strftime('%Y-%m-%d')}, {len(mutants)} faults in the list\n")
    print("| fault | file | line | replacement | seen by | s |\n|---|---|---|---|---|---|")
    for number in map(int, sys.argv[1:] or range(1, len(mutants) + 1)):
        mutant = mutants[number - 1]
        try:
            seen, seconds = judge(mutant, tests)
        except ValueError:
            seen, seconds = "gone", 0.0
        cells = (part.replace("|", "\\|") for part in mutant[1:])
        print(f"| {number} | {mutant.file} | `{'` | `'.join(cells)}` | {seen} | {seconds:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
