"""Make src/neardup/kernels/entries.txt, the kernels each command calls, by running the commands on a sample."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from neardup.measures import MEASURES
from neardup.settings import Settings

ROOT = Path(__file__).parents[1]
LIST = ROOT / "src" / "neardup" / "kernels" / "entries.txt"
SAMPLE = ROOT / "src" / "neardup" / "cli" / "demo_documents" / "documents.jsonl"
MEMOS = (ROOT / "tests" / "golden" / "memo_a.txt", ROOT / "tests" / "golden" / "memo_b.txt")
QUERY = 'SIMILAR:TEXT:"The harbour office is closed on Friday; hand in all receipts for March before noon"_50'

RECORD = """
import sys
from neardup.kernels import linker
from neardup.kernels.precompilation import line_of
seen = []
insert = linker.Kernel.add_overload
def add_overload(kernel, made):
    insert(kernel, made)
    seen.append(line_of(kernel, made.signature.args))
linker.Kernel.add_overload = add_overload
try:
    {run}
except SystemExit:
    pass
with open({out!r}, "w") as file:
    file.writelines("\\t".join(line) + "\\n" for line in seen)
"""
COMMAND = "sys.argv = ['neardup', *{arguments!r}]; from neardup.cli import main; main()"
SERVE = """
    from neardup.collection import Collection
    from neardup.service.server import warm
    with Collection({path!r}) as collection:
        warm(collection)
"""


def scenarios(folder: Path) -> list[tuple[str, str]]:
    """Each command with the calls that it makes, in Python."""
    texts = folder / "texts"
    texts.mkdir()
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows[:40]):
        (texts / f"{number}.txt").write_text(row["text"], encoding="utf-8")
    made = iter(range(100))

    def to(command: str, *more: object) -> list[str]:
        return [command, *map(str, more), "-o", str(folder / f"out{next(made)}")]

    store = folder / "a.neardup"
    lines = [
        ("demo", ["demo"]),
        ("compare", ["compare", *map(str, MEMOS)]),
        ("compare", ["compare", *_of_other_letters(folder)]),
        ("dedup", to("dedup", SAMPLE)),
        *((command, to("report", folder / "out0")) for command in ("report", "review")),  # both compare pairs
        ("lsh", to("dedup", SAMPLE, "--method", "lsh")),
        ("group", to("group", texts)),
        ("add", ["add", str(store), str(SAMPLE)]),
        ("near", ["add", str(folder / "b.neardup"), str(SAMPLE), "--near", "0.8"]),
        ("search", ["search", str(store), QUERY]),
        ("search", ["search", str(store), "harbour"]),
        ("search", ["search", str(store), "SIMILAR:memo-budget-v1_50"]),  # with hits, whose passages are shown
        ("plan", ["plan", str(SAMPLE)]),
        ("explain", ["explain", "--example", "--family", "all"]),
        ("other", to("dedup", SAMPLE, "--method", "lsh", "--audit", 20)),
        ("other", to("dedup", SAMPLE, "--against", MEMOS[0])),
        ("other", to("dedup", SAMPLE, "--threshold", 0.4, "--lose", 0)),
        ("other", to("dedup", SAMPLE, "--unit", "char", "--length", 9)),
        ("other", to("dedup", SAMPLE, "--method", "lsh", "--ignore", MEMOS[0])),
        ("other", to("dedup", SAMPLE, "--ignore-common", 0.01)),
        ("other", to("group", SAMPLE, "--sketch", "simhash", "--distance", 3)),
        *(
            ("other", to("group", SAMPLE, "--measure", measure))
            for measure in MEASURES
            if measure != Settings().search.measure
        ),
        ("other", to("group", SAMPLE, "--measure", "chunk-union", "--matching", "information")),
        ("decontaminate", to("decontaminate", SAMPLE, "--against", SAMPLE)),
        ("passages", to("passages", SAMPLE, "--length", 5)),
        ("passages", to("passages", SAMPLE, "--unit", "line")),
        ("pairs", ["pairs", str(SAMPLE), "--top", "5"]),
        ("other", ["check", str(store)]),
        ("other", ["compact", str(store)]),
    ]
    runs = [(command, COMMAND.format(arguments=arguments)) for command, arguments in lines]
    # as if the sample had millions of shingles
    many = "from neardup.join import prefix_join; prefix_join._IN_RANGE = 64; "
    runs.append(("other", many + COMMAND.format(arguments=to("group", SAMPLE, "--method", "exact"))))
    return [*runs, ("serve", SERVE.format(path=str(folder / "c.neardup")))]


def _of_other_letters(folder: Path) -> list[str]:
    """Two texts that may not be in NFC, with the same words and other characters."""
    paths = [folder / "one.txt", folder / "two.txt"]
    for path, text in zip(
        paths, ("\u0447\u0438\u0442\u0430\u0439, 5", "\u0447\u0438\u0442\u0430\u0438\u0306 -5"), strict=True
    ):
        path.write_text(text, encoding="utf-8")
    return [*map(str, paths)]


def is_ours(line: str) -> bool:
    """Whether a line names a kernel of the package, and not one of Numba or of the sample."""
    module = line.partition(":")[0]
    return LIST.parent.joinpath(*module.split(".")).with_suffix(".py").exists()


def main() -> None:
    """Run everything, and write the list."""
    used: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "seen.txt")
        for command, run in scenarios(Path(place)):
            code = RECORD.format(run=run.strip(), out=str(out))
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{run}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            for line in out.read_text(encoding="utf-8").splitlines():
                if "?" not in line and is_ours(line):
                    commands = used.setdefault(line, [])
                    commands.extend([command] * (command not in commands))
            print(f"{command}: {len(used)} kernels", flush=True)
    lines = [f"{','.join(commands)}\t{line}\n" for line, commands in used.items()]
    LIST.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
