"""Groups on a terminal: as many as it has lines for, and one line with --quiet."""

import json
import shlex
from pathlib import Path

import pytest

import neardup as nd
from neardup.cli.output import first_groups, line_about, lines_for_groups
from neardup.deduplication.run.show import group_lines
from support.command_line import BASE, NEAR, OTHER, Run, write_rows

FOLDER = "archive of the northern office/contracts of 2024/"
NAMES = [f"agreement_about_the_lights_along_the_coast_2024-03-{day:02}_signed_version.txt" for day in (1, 2, 13)]
TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark wood"


def test_a_summary_begins_with_what_goes_and_has_no_line_about_nothing(run: Run, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": BASE}, {"id": "b", "text": NEAR}, {"id": "d", "text": OTHER}]
    file = write_rows(tmp_path / "in.jsonl", rows)
    labels = [line[:14].strip() for line in run("dedup", file, "-o", tmp_path / "out").out.splitlines()]
    assert labels[:6] == ["removed", "kept", "text lost", "groups", "near copies", "pairs"]
    assert labels[6:8] == ["documents", "note"]
    nothing = run("dedup", file, "--threshold", 1, "--dry-run").out.splitlines()
    assert [line[:14].strip() for line in nothing][:4] == ["to remove", "to keep", "groups", "pairs"]


def test_quiet_prints_the_outcome_and_the_place(run: Run, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "in.jsonl", [{"text": BASE}, {"text": NEAR}, {"text": OTHER}])
    items = write_rows(tmp_path / "items.jsonl", [{"question": " ".join(BASE.split()[:40])}])
    out = tmp_path / "clean"
    said = run("decontaminate", file, "--against", items, "-o", out, "--quiet").out.splitlines()
    assert said[0] == "removed: 2 of 3 training documents, with 1 of 1 test item"
    assert len(said) == 2
    tried = run("decontaminate", file, "--against", items, "--dry-run").out.splitlines()
    assert tried[0] == "to remove: 2 of 3 training documents, with 1 of 1 test item"
    words = BASE.split()
    both = write_rows(
        tmp_path / "both.jsonl", [{"question": " ".join(words[:40])}, {"question": " ".join(words[1:])}]
    )
    twice = run("decontaminate", file, "--against", both, "--dry-run").out.splitlines()
    assert twice[0] == "to remove: 2 of 3 training documents, with 2 of 2 test items"
    said = run("passages", file, "-o", tmp_path / "cut", "--cut", "--quiet").out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["cut", said[1].partition(":")[0], "written"]
    assert said[1].startswith("1 repeated passage")
    assert len(run("fingerprint", file, "-o", tmp_path / "fp", "--quiet").out.splitlines()) == 1
    added = run("collection", "add", tmp_path / "c.neardup", file, "--threshold", 0.8, "--quiet").out
    assert added == f"3 documents added; {tmp_path}/c.neardup holds 3\n"


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
    for most in range(1, sum(sizes) + 2 * len(sizes) + 1):
        shown = first_groups(groups, most)
        assert len(shown) >= 1
        assert len(shown) == 1 or sum(len(group.members) + 2 for group in shown) <= most
        assert len(shown) == len(groups) or sum(sizes[: len(shown) + 1]) + 2 * (len(shown) + 1) > most
    assert first_groups(groups, None) == groups
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
        assert review.startswith("next")
        assert [shlex.split(line)[-1] for line in (review, report)] == [str(out), "report.html"]
        for line in (report, export):
            words = shlex.split(line)[1:]
            written = tmp_path / f"{command}-{words[0]}.csv"
            assert run(*words[:2], "-o", written).status == 0
            assert written.stat().st_size


@pytest.fixture
def long_names(tmp_path: Path) -> Path:
    """Three near copies whose paths are longer than a line, and two with short ones."""
    folder = tmp_path / "documents" / FOLDER
    folder.mkdir(parents=True)
    for number, name in enumerate(NAMES):
        (folder / name).write_text(f"{TEXT} one {number}", encoding="utf-8")
    for name in ("b", "c"):
        (folder / f"{name}.txt").write_text(f"{name} {TEXT[::-1]}", encoding="utf-8")
    return tmp_path / "documents"


def test_a_look_shows_the_folder_once_and_names_where_they_differ(run: Run, long_names: Path) -> None:
    first, *members = run("look", long_names).out.partition("\n\n")[0].splitlines()
    assert first == f"3 documents in {FOLDER}"
    shown = [line[2:].split()[1] for line in members]
    assert shown == [f"…{name[name.index('-') + 4 :]}" for name in sorted(NAMES)]
    assert max(map(len, members)) <= 80


def test_a_terminal_has_short_names_and_a_pipe_has_whole_ones(run: Run, long_names: Path) -> None:
    found = nd.find(long_names, threshold=0.6)
    groups = found.first_groups()
    assert (
        list(group_lines(groups, 2, dry=True))
        == run("dedup", long_names, "--dry-run", "--threshold", "0.6").out.splitlines()[:7]
    )
    assert all(any(FOLDER + name in line for line in group_lines(groups, 2)) for name in NAMES)
    for width in (70, 80, 200):
        head, first, *others = list(group_lines(groups, 2, width))[:4]
        assert head == f"3 documents in {FOLDER}"
        assert max(map(len, (first, *others))) <= width
        assert "represents" in first
        shown = [line.split()[1] for line in (first, *others)]
        wanted = [FOLDER + NAMES[place] for place in (0, 1, 2)]
        assert len(set(shown)) == 3
        assert all(name.startswith("…") and any(id.endswith(name[1:]) for id in wanted) for name in shown)
        assert all(" near copy: resemblance 0." in line for line in others)
    assert others[0].endswith("shingles)")


def test_a_run_without_groups_ends_with_a_list_of_pairs(run: Run, long_names: Path, tmp_path: Path) -> None:
    *_, last = run("group", long_names, "--threshold", "0.99", "-o", tmp_path / "out").out.splitlines()
    word, _, typed = last.partition(" ")
    assert word == "next"
    assert run(*shlex.split(typed)[1:]).out.startswith("0.8")


def test_events_of_a_run_are_lines_that_a_program_reads(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    write_rows(file, [{"text": BASE}, {"text": NEAR}])
    file.write_text(file.read_text() + "{broken\n")
    metrics = tmp_path / "neardup.prom"
    result = run("dedup", file, "--dry-run", "--quiet", "--log-format", "json", "--metrics", metrics)
    events = [json.loads(line) for line in result.err.splitlines()]
    assert (events[0]["event"], events[-1]["event"], events[-1]["status"]) == ("start", "end", 1)
    assert (events[-1]["counts"]["read"], events[-1]["counts"]["rejected"]) == (2, 1)
    assert [event["text"].splitlines()[0] for event in events if event["event"] == "warning"] == [
        "1 row rejected."
    ]
    assert 'neardup_status{command="dedup"} 1\n' in metrics.read_text()
    refused = run("dedup", tmp_path / "none.jsonl", "--dry-run", "--log-format", "json", "--metrics", metrics)
    assert [json.loads(line)["event"] for line in refused.err.splitlines()] == ["start", "error", "end"]
    assert 'neardup_status{command="dedup"} 2\n' in metrics.read_text()


@pytest.mark.parametrize(("asked", "status"), [((), 1), (("--strict",), 2), (("--no-strict",), 0)])
def test_the_status_of_rejected_rows_can_be_chosen(
    run: Run, tmp_path: Path, asked: tuple[str, ...], status: int
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": "one"}\n{broken\n')
    assert run("dedup", file, "--dry-run", *asked).status == status
    assert run("dedup", tmp_path / "none.jsonl", "--dry-run", *asked).status == 2


def test_status_1_of_verify_is_no_rejected_row(run: Run, tmp_path: Path) -> None:
    assert "There is no option --no-strict" in run("verify", tmp_path, "--no-strict").err


def test_wrong_options_of_the_log(run: Run, tmp_path: Path) -> None:
    for wrong in (("--log-format", "xml"), ("--log-every", "0")):
        said = run("dedup", tmp_path, "--dry-run", *wrong)
        assert (said.status, said.err.startswith(f"error: {wrong[0]} is ")) == (2, True)
    own = tmp_path / "own.txt"
    own.write_text("kept")
    assert run("demo", "--metrics", own).status == 2
    write_rows(tmp_path / "in.jsonl", [{"text": BASE}])
    said = run("dedup", tmp_path / "in.jsonl", "--dry-run", "--metrics", own)
    assert (said.status, own.read_text()) == (2, "kept")
