"""Groups on a terminal: as many as it has lines for, and one line with --quiet."""

import shlex
from pathlib import Path

import neardup as nd
from neardup.cli.output import fitting, line_about, lines_for_groups
from support.command_line import Run

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark wood"


def alike() -> nd.Found:
    """Three groups: of two, of three and of two documents."""
    texts = (
        [f"{TEXT} {word}" for word in ("one", "one")]
        + [f"{TEXT[::-1]} {n}" for n in "aab"]
        + [TEXT.title() * 2] * 2
    )
    return nd.find(texts, threshold=0.7)


def test_groups_fit_in_the_lines_there_are() -> None:
    groups = alike().first_groups()
    sizes = [len(group.members) for group in groups]
    assert len(sizes) > 1
    for most in range(1, sum(sizes) + len(sizes) + 1):
        shown = fitting(groups, most)
        assert len(shown) >= 1
        assert len(shown) == 1 or sum(len(group.members) + 1 for group in shown) <= most
        assert len(shown) == len(groups) or sum(sizes[: len(shown) + 1]) + len(shown) + 1 > most
    assert fitting(groups, None) == groups
    assert lines_for_groups(verbose=True) is None


def test_quiet_is_one_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f'{{"text": "{TEXT} {word}"}}\n' for word in ("one", "one", "two")), encoding="utf-8")
    out = tmp_path / "out"
    for typed, end in (
        (["dedup", file, "-o", out], f"; written: {out}"),
        (["dedup", file, "--dry-run"], "; written: nothing"),
        (["look", file], "can go"),
    ):
        (line,) = run(*typed, "--quiet").out.splitlines()
        assert line.startswith("3 documents: 1 group with 1 exact copy and 1 near copy; 2 (66.6 %)")
        assert line.endswith(end)
    (line,) = run("group", file, "-o", tmp_path / "groups", "--quiet").out.splitlines()
    assert line == f"{line_about(nd.load(tmp_path / 'groups').run)}; written: {tmp_path / 'groups'}"


def test_a_run_ends_with_commands_that_work(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "a.jsonl", tmp_path / "out of it"
    file.write_text("".join(f'{{"text": "{TEXT} {word}"}}\n' for word in ("one", "one", "two")), encoding="utf-8")
    for command in ("dedup", "group"):
        *_, review, report, export = run(command, file, "-o", out, "--overwrite").out.splitlines()
        assert [line.split()[-1] for line in (review, report)] == ["it'", "it'"]
        assert review.startswith("next")
        for line in (report, export):
            words = shlex.split(line)[1:]
            written = tmp_path / f"{command}-{words[0]}.csv"
            assert run(*words[:2], "-o", written).status == 0
            assert written.stat().st_size
