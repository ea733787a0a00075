"""docs/evidence.md: its tables are those of the results, and it has a reason where another tool is ahead."""

import re
import sys
from pathlib import Path

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import figures
import quality
from table import sections

PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
RESULTS = {name: (ROOT / "benchmarks" / "results" / name).read_text() for name in ("quality.md", "commands.md")}
MORE, LESS = (
    {"pairs found", "adjusted Rand"},
    {*quality.COLUMNS.values(), "peak MB"} - {"tool", "pairs found", "adjusted Rand"},
)
"""The figures of which more is better, and the others. Speed and money are the processor time in another unit."""
SETS = {
    "labelled": "The labelled sets together",
    "kernel": "Two versions of the kernel, net",
    "documentation": "Documentation of three releases, in pieces",
    "standards": "Standards of the Internet, in pieces",
}
ALONE = "Each labelled set alone"

Case = tuple[str, str, str, str]
"""A figure, the method of ours, the tool that is ahead of it, and the set."""
Row = dict[str, str]


def table(lines: list[str]) -> list[Row]:
    """The rows of the first table of some lines, by the heads of its columns."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def of_results(name: str) -> dict[str, list[Row]]:
    return {lines[0].removeprefix("## "): table(lines) for lines in sections(RESULTS[name].splitlines())[1:]}


def better(figure: str, other: str, ours: str) -> bool:
    """Whether the figure of another tool is ahead, as shown: what is rounded to the same is a tie."""
    a, b = (float(shown.replace(",", "")) for shown in (other, ours))
    return a > b if figure in MORE else a < b


def ahead(rows: list[Row], place: str, method: str = "") -> set[Case]:
    """The cases of a table; the name of a method goes on with ``method``."""
    own = {row["tool"].removeprefix("neardup ") + method: row for row in rows if row["tool"].startswith("neardup")}
    return {
        (figure, name, other["tool"], place)
        for name, row in own.items()
        for other in rows
        for figure in (MORE | LESS) & set(row)
        if not other["tool"].startswith("neardup") and better(figure, other[figure], row[figure])
    }


def stated(after: str, column: str) -> set[Case]:
    """The cases of a list of the page: the first table after some words."""
    lines = PAGE.partition(after)[2].partition("| figure |")[2].partition("\n\n")[0]
    listed = table(("| figure |" + lines).splitlines())
    assert all(len(row["reason"]) > len("as above") - 1 for row in listed)
    return {
        (figure, method, tool, place)
        for row in listed
        for figure in re.split(", ", row["figure"])
        for method in row["method"].split(", ")
        for tool in row["tools ahead"].split("; ")
        for place in row[column].split(", ")
    }


def test_every_figure_in_which_another_tool_is_ahead_has_a_reason_on_the_page() -> None:
    tables = of_results("quality.md")
    assert {*tables} == {*SETS.values(), ALONE}
    cases = {case for place, heading in SETS.items() for case in ahead(tables[heading], place)}
    assert stated("## Where other tools are ahead", "sets") == cases


def test_no_tool_is_ahead_on_a_labelled_set_alone() -> None:
    rows = {row.pop("tool"): row for row in of_results("quality.md")[ALONE]}
    figures = [
        cell.split(" / ") for name, row in rows.items() if name.startswith("neardup") for cell in row.values()
    ]
    assert {one for cell in figures for one in cell} == {"0"}


def test_every_command_that_takes_less_has_a_reason_on_the_page() -> None:
    [rows] = of_results("commands.md").values()
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        alike.setdefault((row["text"], row["processors"]), []).append(row)
    cases = {case for (text, count), part in alike.items() for case in ahead(part, text, f" on {count}")}
    assert stated("<!-- end of commands -->", "texts") == cases


def between(begin: str, end: str) -> list[str]:
    return [line for line in PAGE.partition(begin)[2].partition(end)[0].splitlines() if line.startswith("|")]


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    rows = of_results("commands.md")["From Parquet file to Parquet file"]
    assert table(between("<!-- commands -->", "<!-- end of commands -->")) == [
        row for row in rows if row["processors"] == "2"
    ]
    assert table(between("<!-- tables -->", "\n## ")) == of_results("quality.md")[SETS["labelled"]]
    assert all(f"(../benchmarks/results/{name})" in PAGE for name in RESULTS)


def test_one_step_makes_each_table_of_the_page_and_the_figures_of_the_readme() -> None:
    script = (ROOT / "scripts" / "evidence").read_text()
    every = re.search(r"^all=\((.*)\)$", script, re.MULTILINE)
    assert every is not None
    steps = every[1].split()
    parts = re.split(r"^(\w+)\(\) \{", script, flags=re.MULTILINE)
    programs = {step: re.findall(r"benchmarks/(\w+)\.py", parts[parts.index(step) + 1]) for step in steps}
    minutes = re.search(r"minutes=\((.*)\)", script)
    assert minutes is not None
    assert re.findall(r"\[(\w+)\]=", minutes[1]) == steps
    assert f"steps: {' '.join(steps)}\n" in script
    needed = {Path(name).stem for name in re.findall(r"benchmarks/results/([\w.]+)", PAGE)}
    needed |= {Path(one.file).stem for one in figures.figures() if one.page in {"README.md", "docs/evidence.md"}}
    assert {result: [step for step in steps if result in programs[step]] for result in needed} == {
        result: [result] for result in needed
    }
    assert "](../images" not in PAGE
    assert "](images" not in PAGE, "a picture needs a step"


def test_a_worse_figure_is_seen() -> None:
    rows = [
        {"tool": "neardup LSH", "pairs found": "1,000", "missed": "1", "peak MB": "59.0"},
        {"tool": "a", "pairs found": "1,001", "missed": "0", "peak MB": "59.0"},
        {"tool": "b", "pairs found": "999", "missed": "2", "peak MB": "8.5"},
    ]
    assert ahead(rows, "set") == {
        ("pairs found", "LSH", "a", "set"),
        ("missed", "LSH", "a", "set"),
        ("peak MB", "LSH", "b", "set"),
    }
