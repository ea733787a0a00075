"""With a reference set, an id may be that of two documents: each look-up speaks of one, and says which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.deduplication.run.exchange import export_table
from neardup.deduplication.run.graph import edges_of
from neardup.errors import InputError
from neardup.io.decisions.records import NO_DECISIONS
from neardup.review.desk.index import ResultIndex
from support.command_line import exit_status


def text(number: int, more: str = "") -> str:
    """A text of its own for each number."""
    return " ".join(f"w{number}x{place * place % 97}" for place in range(60)) + more


OLD = {0: text(0), 1: text(1), 2: text(2), 9: text(9)}
NEW = {
    0: text(10),  # in no pair, while its id is that of a reference document in a group
    1: text(11),  # leads 2: its group has the same id as the one that the reference document 1 leads
    2: text(11, " tail"),
    3: text(1, " tail"),  # a near copy of old:1
    4: text(2),  # an exact copy of old:2
    5: text(0, " tail"),  # a near copy of old:0
    6: text(9, " tail"),  # a near copy of 9, which only the reference set has
}
GROUPS = {"0": ["5"], "1": ["2"], "old:1": ["3"], "old:2": ["4"], "9": ["6"]}
"""By names: those of 0 and 9 are plain, since the tables have no document of the input with these ids."""


def rows(texts: dict[int, str], name: Any) -> list[dict[str, Any]]:
    return [{"id": name(id), "text": one} for id, one in texts.items()]


@pytest.fixture(params=[int, str], ids=["numbers", "strings"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    made = []
    for name, texts in (("old", OLD), ("new", NEW)):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows(texts, request.param)))
        made.append(file)
    return made[0], made[1]


@pytest.fixture(params=["found", "loaded"])
def found(request: pytest.FixtureRequest, files: tuple[Path, Path], tmp_path: Path) -> nd.Found:
    result = nd.find(files[1], against=files[0], id="id", threshold=0.8, keep="first")
    if request.param == "loaded":
        result.save(tmp_path / "out")
        result = nd.load(tmp_path / "out")
    return result


def test_each_group_is_that_of_one_representative(found: nd.Found) -> None:
    groups = {str(group.id): [str(member.id) for member in group.members[1:]] for group in found.first_groups()}
    assert groups == GROUPS
    assert found.run.counts.groups == len(GROUPS)
    led = dict(
        zip(found.groups["reason"].to_pylist(), found.groups["group_in_reference"].to_pylist(), strict=True)
    )
    assert all(led[reason] for reason in led if "in the reference set" in reason)
    index = ResultIndex(found)
    heads = {index.documents.id(head) for head in index.heads.tolist()}
    assert {str(head) for head in heads} == set(GROUPS)
    assert (index.size == 2).all()
    names = found.named.pairs.select(["id_a", "id_b"]).to_pylist()
    assert {frozenset(map(str, pair.values())) for pair in names} == {
        frozenset((head, *members)) for head, members in GROUPS.items() if head != "old:2"
    }


@pytest.mark.parametrize(
    ("asked", "words", "side"),
    [
        (1, text(11), False),
        ("1", text(11), False),
        ("new:1", text(11), False),
        ("old:1", text(1), True),
        (4, text(2), False),
        ("old:2", text(2), True),
        (9, text(9), True),
        ("old:9", text(9), True),
        ("old:0", text(0), True),
    ],
)
def test_an_id_is_looked_up_in_the_input_first(found: nd.Found, asked: Any, words: str, side: bool) -> None:
    assert found.look(asked).text == words
    decision = found.why(asked)
    assert decision.in_reference is side
    assert ("of the reference set" if side else "of the input") in str(decision)
    assert decision.kept == (str(asked) != "4")
    assert found.compare(asked, asked).measures["resemblance"] == 1


def test_a_unique_document_is_found_where_the_input_can_be_read(files: tuple[Path, Path]) -> None:
    found = nd.find(files[1], against=files[0], id="id", threshold=0.8)
    assert found.look(0).text == text(10)
    assert (found.why(0).id, found.why(0).in_reference, found.why(0).group) == ("new:0", False, None)
    with pytest.raises(InputError):
        found.why(7)


def test_a_pair_and_its_surroundings_belong_to_the_document_asked_for(found: nd.Found) -> None:
    assert found.pair(3, "old:1") is not None
    assert found.pair(3, 1) is None
    assert found.pair(2, 1) is not None
    near = found.around("old:1").edges.to_pylist()
    assert [(edge["id_a"], edge["id_b"]) for edge in near] == [("old:1", "3")]
    near = found.around(1).edges.to_pylist()
    assert {edge[end] for edge in near for end in ("id_a", "id_b")} == {"1", "2"}
    assert len(edges_of(found.named)) == 5


def test_an_export_has_the_text_and_path_of_each_side(found: nd.Found) -> None:
    table = export_table(found, NO_DECISIONS, "groups").to_pylist()
    by_name = {str(row["id"]): row for row in table}
    assert len(by_name) == len(table)
    for name, row in by_name.items():
        old = name.startswith("old:") or name in ("0", "9")
        assert row["in_reference"] is old
        assert row["path"] is None or row["path"].endswith("old.jsonl" if old else "new.jsonl")


def test_ids_that_begin_with_a_mark_of_a_side_have_names_too(tmp_path: Path) -> None:
    old = [{"id": "1", "text": text(1)}, {"id": "old:1", "text": text(2)}]
    new = [{"id": "1", "text": text(1, " tail")}, {"id": "old:1", "text": text(2, " tail")}]
    found = nd.find(new, against=old, id="id", text="text", threshold=0.8)
    texts = {name: found.look(name).text for name in ("1", "old:1", "new:old:1", "old:old:1")}
    assert texts == {"1": text(1, " tail"), "old:1": text(1), "new:old:1": text(2, " tail"), "old:old:1": text(2)}
    assert found.why("new:old:1").group == "old:old:1"


def test_without_a_reference_set_an_id_is_an_id() -> None:
    found = nd.find([{"id": "old:1", "text": text(1)}, {"id": "1", "text": text(1, " tail")}], id="id")
    assert found.named is found
    assert found.look("old:1").text == text(1)
    assert "reference" not in str(found.why("old:1"))


def test_show_says_of_which_side_it_speaks(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nd.find(files[1], against=files[0], id="id", threshold=0.8, keep="first").save(tmp_path / "out")
    shown = {}
    for id in ("1", "old:1", "0"):
        assert exit_status("show", tmp_path / "out", id) == 0
        shown[id] = " ".join(capsys.readouterr().out.split())
    assert "1 (of the input)" in shown["1"]
    assert "new.jsonl" in shown["1"]
    assert "old:1 (of the reference set)" in shown["old:1"]
    assert "old.jsonl" in shown["old:1"]
    assert "outside them" in shown["0"], "input 0 is in no group, old:0 is"
    assert "neardup report" not in shown["0"]  # there is no older page
