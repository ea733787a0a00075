"""Seed faults of one line in each wing, and compare the catch of the short run with that of all tests.

``scripts/mutants.py [--short] [WING …]`` runs the faults of scripts/mutants.txt, all or those of the wings, each
in a copy of the last commit: first the quick tests of the short run that execute the line, by the map of
``scripts/test --map`` or imports, then the rest of the short run, then the other files that import the module.
With ``--short`` only the first. It prints a row for each fault and a table of the wings. ``--draw SEED`` prints a
new list, of 20 faults for each wing. An entry has a file, a line without its indentation, and what replaces it, so
that the list stays valid when lines move. A fault whose line is gone is looked for in the whole package.
"""

from __future__ import annotations

import ast
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy  # noqa: F401 - imported once, before the processes of the faults are forked
import pyarrow.parquet  # noqa: F401
import pytest

from change import ROOT, Map, imported, importers, module_of, quick

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "house")]
from test_layers import WINGS, WORDS  # noqa: E402

from support.short_run import choice  # noqa: E402

LIST = ROOT / "scripts" / "mutants.txt"
KERNELS = "src/neardup/kernels/"
SOURCE = ROOT / "src" / "neardup"
DRAWN = 20
"""Faults of each wing."""
COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}  # fmt: skip
"""Comparisons, and those that replace them."""
SURFACE = {
    "corpus": ("passages", "decontaminate", "plan_sample"),
    "comparison": ("compare", "explain"),
    "deduplication": ("related", "kinds_option", "shards_command", "stored", "resume", "audit", "copies"),
    "collection": ("collection", "arrival", "search_command"),
    "service": ("serve", "collection_writers"),
    "review": ("review", "report"),
    "verifier": ("verify",),
    "io": ("inputs", "formats", "kept_files", "written"),
    "cli": ("cli", "messages", "options", "progress", "command", "plan_"),
}
"""Words in the names of the files of tests/surface that start the program, for what they cannot import."""
QUICK, REST, OTHERS = (float(text) for text in os.environ.get("MUTANTS_SECONDS", "15,40,60").split(","))
"""Seconds of processor time of the tests of one fault: quick ones of the short run, its rest, and all others."""
LIMIT, WAITED = 120, 400
"""Seconds of work and of waiting of one process, after which a fault counts as seen: it loops, or waits."""


class Mutant(NamedTuple):
    """A fault of one line."""

    file: str
    line: str
    replacement: str


def wing_of(file: str) -> str:
    """Return the wing of a file of the package."""
    room = Path(file).relative_to("src/neardup").parts[0].removesuffix(".py")
    return "words" if room in WORDS else room


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


def edits(node: ast.AST, source: str) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the kinds of fault that a node may have, the part to replace, and what replaces it."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ""

    def between(left: ast.expr, right: ast.expr, before: str, after: str) -> Iterator[tuple[str, ast.AST, str]]:
        if left.end_lineno == right.lineno:
            line = source.splitlines()[right.lineno - 1].encode()
            gap = line[left.end_col_offset : right.col_offset].decode()
            span = ast.Name(id="", lineno=right.lineno, col_offset=left.end_col_offset or 0)
            span.end_lineno, span.end_col_offset = right.lineno, right.col_offset
            yield "sign" if before in "+-" else "comparison", span, gap.replace(before, after)

    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            yield from between(left, right, *COMPARED[type(op)])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from between(left, right, "+", "-")
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from between(left, right, "-", "+")
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", node, f"+{text(node)[1:]}"
        case ast.UnaryOp(op=ast.Not()):
            yield "sign", node, text(node).removeprefix("not ")
        case ast.BoolOp(values=values):
            joint = " and " if isinstance(node.op, ast.And) else " or "
            parts = [f"({text(one)})" if isinstance(one, ast.BoolOp | ast.IfExp) else text(one) for one in values]
            for left_out in range(len(values)):
                kept = joint.join(part for k, part in enumerate(parts) if k != left_out)
                yield "condition", node, kept if len(values) == 2 else f"({kept})"
        case ast.If(test=test) if not isinstance(test, ast.BoolOp):
            yield "condition", test, "True"
            yield "condition", test, "False"
        case ast.Expr(value=ast.Call()):
            yield "left out", node, "pass"
        case ast.Call(args=[ast.Name() | ast.Attribute() as a, ast.Name() | ast.Attribute() as b, *_]):
            equal = re.search(r"\b(min|max|minimum|maximum|isinstance|issubclass)$", text(node.func))
            if not equal and text(a) != text(b) and a.lineno == b.lineno:
                end = source.splitlines()[a.lineno - 1].encode()[a.end_col_offset : b.col_offset].decode()
                span = ast.Name(id="", lineno=a.lineno, col_offset=a.col_offset)
                span.end_lineno, span.end_col_offset = b.end_lineno, b.end_col_offset
                yield "argument", span, f"{text(b)}{end}{text(a)}"
        case ast.Constant(value=bool() as value):
            yield "constant", node, str(not value)
        case ast.Constant(value=int() as value):
            yield "constant", node, str(value + 1)
        case ast.Continue():
            yield "left out", node, "break"


def faults(file: Path) -> Iterator[tuple[str, Mutant]]:
    """Yield the faults of one line that the functions of a file may have, with their kinds."""
    source = file.read_text(encoding="utf-8")
    lines = source.splitlines()
    once = Counter(line.strip() for line in lines)
    name = file.relative_to(ROOT).as_posix()
    passed: set[int] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            passed |= {id(part) for default in node.args.defaults for part in ast.walk(default)}
            heads = [
                *node.decorator_list,
                *filter(None, (node.returns, *(one.annotation for one in node.args.args))),
            ]
            passed |= {id(part) for head in heads for part in ast.walk(head)}
        elif isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.AnnAssign):
            passed |= {id(part) for part in ast.walk(node)}
    inside = [part for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) for part in ast.walk(one)]
    for node in dict.fromkeys(inside):
        if id(node) in passed:
            continue
        for kind, part, replacement in edits(node, source):
            line = lines[part.lineno - 1]  # type: ignore[attr-defined]
            if part.lineno != part.end_lineno or once[line.strip()] != 1 or "\t" in line.strip():  # type: ignore[attr-defined]
                continue
            start, stop = part.col_offset, part.end_col_offset  # type: ignore[attr-defined]
            whole = line.encode()
            after = (whole[:start] + replacement.encode() + whole[stop:]).decode()
            if after.strip() != line.strip():
                yield kind, Mutant(name, line.strip(), after.strip())


def draw(seed: int) -> Iterator[Mutant]:
    """Yield new faults: in each wing the kinds in turn, each time from the file with the fewest so far."""
    for wing in WINGS:
        chance = random.Random(f"{seed} {wing}")
        of_kind: dict[str, list[Mutant]] = defaultdict(list)
        for path in sorted(SOURCE.rglob("*.py")):
            if wing_of(path.relative_to(ROOT).as_posix()) == wing:
                for kind, mutant in faults(path):
                    of_kind[kind].append(mutant)
        of_file: Counter[str] = Counter()
        taken: set[tuple[str, str]] = set()
        for turn in range(DRAWN):
            kinds = sorted(of_kind)
            possible = [one for one in of_kind[kinds[turn % len(kinds)]] if one[:2] not in taken]
            fewest = min(of_file[one.file] for one in possible)
            mutant = chance.choice([one for one in possible if of_file[one.file] == fewest])
            of_file[mutant.file] += 1
            taken.add(mutant[:2])
            yield mutant


class Tests(NamedTuple):
    """The tests that may see a fault, in the order in which they run."""

    quick: list[str]
    """Of the short run, those that reach the line in the least time."""
    short: list[str]
    """The rest of the short run."""
    others: list[str]


def is_compiled(file: str) -> bool:
    """Whether the functions of a file are compiled."""
    return file.startswith(KERNELS) and not file.endswith(("/calls.py", "/compiler.py", "/native.py"))


def calls_of(file: str, line: int) -> Iterator[tuple[str, set[int]]]:
    """Yield the files outside the kernels, with the lines, that call the kernel of a line.

    Of a function that Python does not call these are the calls of all kernels of its module, or of those that
    import it.
    """

    def entries(path: Path) -> list[ast.FunctionDef]:
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        return [node for node in nodes if isinstance(node, ast.FunctionDef) and node.decorator_list]

    module = module_of(file)
    own = entries(ROOT / file)
    called = [node for node in own if node.lineno <= line <= (node.end_lineno or 0)] or own
    called += [
        node for path in (SOURCE / "kernels").rglob("*.py") if module in imported(path) for node in entries(path)
    ]
    name = re.compile(rf"\b({'|'.join(node.name for node in called) or '-'})\(")
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(ROOT).as_posix()
        if not is_compiled(relative):
            lines = path.read_text(encoding="utf-8").splitlines()
            if found := {k for k, text in enumerate(lines, 1) if name.search(text)}:
                yield relative, found


def tests_of(file: str, line: int, tests: Map | None) -> Tests:
    """Return the tests that may see a fault."""
    chosen = choice()
    by_import = sorted(name for name in importers({module_of(file)}) if "/house/" not in name)
    surface = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "surface").glob("test_*.py")]
    words = (*SURFACE.get(wing_of(file), ()), Path(file).stem)
    of_wing = sorted(name for name in surface if any(word in name for word in words))
    by_import += [name for name in of_wing if name not in by_import]
    by_import.insert(0, f"tests/surface/test_examples.py::test_examples_of_a_module[{module_of(file)}]")
    covering = Counter[str]()
    if tests is not None and is_compiled(file):  # no map has its lines
        covering += {name: 1 for name in tests.seconds if name.partition("::")[0] in by_import}
        for caller, lines in calls_of(file, line):
            covering += tests.covering_lines(caller, lines)
    elif tests is not None:
        covering = tests.covering_lines(file, {line})
    if not covering or tests is None:
        by_import = by_import or sorted(importers({module_of(file).rpartition(".")[0]}))[:20]
        return Tests([name for name in by_import if name in chosen], [], [n for n in by_import if n not in chosen])
    short = Counter({name: lines for name, lines in covering.items() if name in chosen})
    first, _ = quick(short, tests.seconds, QUICK)
    rest, _ = quick(
        Counter({name: lines for name, lines in short.items() if name not in first}), tests.seconds, REST
    )
    first += [name for name in by_import[:1] if name in chosen]
    # the map has the tests of the short run; what else imports the module may reach the line, too
    return Tests(first, rest, [name for name in by_import if name not in chosen])


class Budget:
    """A plugin of pytest that ends a run after some processor time, and keeps the first failure."""

    def __init__(self, seconds: float) -> None:
        """Keep the limit."""
        self.seconds, self.failed = seconds, ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported fails."""
        if report.failed and not self.failed:
            self.failed = report.nodeid or "collection"

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Run no further test beyond the limit."""
        if sum(os.times()[:4]) > self.seconds:
            item.session.shouldstop = "the time is over"


def run(folder: Path, names: list[str], short: bool, seconds: float) -> str:
    """Return the first test that fails in the copy; "" if all pass. Each run is a fork of this process."""
    names = [name for name in names if (folder / name.partition("::")[0]).exists()]
    if not names:
        return ""
    answer = folder / "failed.txt"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
            signal.alarm(WAITED)
            with (folder / "output.txt").open("w", encoding="utf-8") as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            os.chdir(folder)
            for module in [
                name for name in sys.modules if name.partition(".")[0] in ("support", "neardup", "change")
            ]:
                del sys.modules[module]
            paths = [str(folder / "src"), str(folder / "tests")]
            sys.path[:] = [*paths, *(path for path in sys.path if not path.startswith(str(ROOT)))]
            os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "NEARDUP_SHARED_DATA": str(folder / "none")}
            if short:
                os.environ["NEARDUP_SHORT"] = "1"
            budget = Budget(seconds)
            pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=line", *names], plugins=[budget])
            answer.write_text(budget.failed, encoding="utf-8")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if not answer.exists():
        return f"a process that ended with {signal.Signals(os.WTERMSIG(status)).name if status else 'nothing'}"
    return answer.read_text(encoding="utf-8")


def build(folder: Path) -> None:
    """Compile the kernels that have changed: a test would do it in its own time. A fault may not compile."""
    subprocess.run([sys.executable, "-m", "kernelbuild"], cwd=folder, capture_output=True, check=False)


FINE: dict[str, bool] = {}
"""Whether a test passes without a fault."""


def first_failing(folder: Path, mutant: Mutant, names: list[str], short: bool, seconds: float) -> str:
    """Return the first test that fails with the fault and passes without it; "" if none does."""
    file, number = place(mutant, folder)
    path = folder / file
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines[number] = indent + mutant.replacement
    names = [name for name in names if FINE.get(name, True)]
    while True:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if is_compiled(file):
            build(folder)
        try:
            failed = run(folder, names, short, seconds)
        finally:
            path.write_text(before, encoding="utf-8")
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()  # a file of the same size in the same second would count as compiled
        if not failed or "::" not in failed:
            return failed
        if failed not in FINE:
            FINE[failed] = not run(folder, [failed], short, seconds)
        if FINE[failed]:
            return failed
        function = failed.partition("[")[0]
        left = [name for name in names if name not in (failed, function, failed.partition("::")[0])]
        if left == names:
            return ""
        names = left


def judge(folder: Path, mutant: Mutant, tests: Map | None, short_only: bool) -> tuple[str, str]:
    """Return which tests see a fault, "short", "whole" or "none", and the first one that fails."""
    file, number = place(mutant, folder)
    choices = tests_of(file, number + 1, tests)
    if short_only:
        choices = Tests(choices.quick, [], [])
    for names, seconds in ((choices.quick, 3 * QUICK), (choices.short, 2 * REST), (choices.others, OTHERS)):
        short = names is not choices.others
        if failed := first_failing(folder, mutant, names, short, seconds):
            return "short" if short else "whole", failed
    return "none", f"of {sum(map(len, choices))}"


def table(seen: dict[str, Counter[str]]) -> Iterator[str]:
    """Yield the lines of the table of the wings."""
    yield "| wing | faults | killed by the short run | by the whole run only | survivors | short of all killed |"
    yield "|---|---|---|---|---|---|"
    for wing, counts in seen.items():
        killed = counts["short"] + counts["whole"]
        share = f"{100 * counts['short'] / killed:.0f} %" if killed else "–"
        row = (wing, counts.total() - counts["gone"], counts["short"], counts["whole"], counts["none"], share)
        yield f"| {' | '.join(map(str, row))} |"


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
    wings = [word for word in sys.argv[1:] if word in WINGS] or list(WINGS)
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()] or range(1, len(mutants) + 1)
    print("| fault | file | line | replacement | seen by | test | s |\n|---|---|---|---|---|---|---|")
    seen: dict[str, Counter[str]] = {wing: Counter() for wing in wings}
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), name], check=True)
        for compiled in ("src/neardup/kernels/library", "build/kernels"):
            shutil.copytree(ROOT / compiled, folder / compiled)
        for wing, number in ((wing, number) for wing in wings for number in numbers):
            mutant = mutants[number - 1]
            if wing_of(mutant.file) != wing:
                continue
            begin = sum(os.times()[:4])
            try:
                file, _ = place(mutant, folder)
                by, test = judge(folder, mutant, tests, "--short" in sys.argv)
            except ValueError:
                file, by, test = mutant.file, "gone", ""
            seen[wing][by] += 1
            seconds = sum(os.times()[:4]) - begin
            cells = "` | `".join(part.replace("|", "\\|") for part in mutant[1:])
            file = file.removeprefix("src/neardup/")
            print(f"| {number} | {file} | `{cells}` | {by} | {test} | {seconds:.0f} |", flush=True)
    print(f"\n{time.strftime('%Y-%m-%d')}\n\n" + "\n".join(table(seen)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
