"""Tags in collections: for documents, groups and queries; undone, exported and imported as in results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.collection.groups.methods import store_reviewing
from neardup.collection.query.explanation import describe
from neardup.errors import InputError, NeardupError, UnknownIdError
from neardup.io.decisions.records import Change, SecondReview, Tag
from neardup.io.decisions.store import DecisionStore
from support.command_line import Run
from support.messages import has_parts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away"
TEXTS = {"a": TEXT, "b": TEXT + " today", "c": "something else that is not like the others at all", "d": "no"}
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["on", "off", "undo"]),
        st.lists(st.sampled_from([*TEXTS]), min_size=1, max_size=3),
        st.sampled_from(["hot", "cold", "tag:x", "é ü"]),
        st.sampled_from(["ann", "ben"]),
    ),
    max_size=8,
)


@pytest.fixture
def letters(tmp_path: Path) -> Iterator[nd.Collection]:
    with nd.Collection(tmp_path / "letters.neardup") as collection:
        table = pa.table({"id": [*TEXTS], "text": [*TEXTS.values()]})
        collection.add(table, on_near="link", near=0.5)
        yield collection


@given(acts=ACTS)
def test_tags_and_undo_are_those_of_a_result(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, list[str], str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("tags")
    with nd.Collection(folder / "x.neardup") as collection, DecisionStore(folder) as store:
        collection.add(pa.table({"id": [*TEXTS], "text": [*TEXTS.values()]}))
        for act, ids, tag, by in acts:
            if act == "undo":
                outcomes = []
                for undo in (lambda by=by: collection.undo(by), lambda by=by: store.undo(by=by)):
                    try:
                        done = undo()
                        outcomes.append(None if done is None else "done")
                    except NeardupError as error:
                        outcomes.append(type(error).__name__)
                assert outcomes[0] == outcomes[1]
                continue
            before = store.state().tags
            changes: list[Change] = [
                Tag(id, tag, act == "on")
                for id in dict.fromkeys(ids)
                if (tag in before.get(id, ())) == (act == "off")
            ]
            made = collection.tag(tag, ids, on=act == "on", by=by)
            assert (made is None) == (not changes)
            if changes:
                assert made is not None
                assert made.changes == store.act(changes, by=by, what="w").changes
            assert collection.tags() == dict(store.state().tags)
        assert collection.check() == []


def test_a_group_and_what_a_query_finds(letters: nd.Collection) -> None:
    group = letters.group_of("a")
    assert group is not None
    letters.tag("near", group=group.id, by="ann")
    letters.tag("else", query="something OR no", by="ann")
    assert letters.tags() == {"a": ("near",), "b": ("near",), "c": ("else",), "d": ("else",)}
    assert letters.tags(["c"]) == {"c": ("else",)}
    assert letters.tag("none", query="nowhere", by="ann") is None
    assert letters.tag("near", ["a"], by="ben") is None
    assert [action.what for action in letters.actions()] == ["tag: else, 2 documents", "tag: near, 2 documents"]
    letters.decide("a", "c", "unsure", by="ann")
    letters.undo("ann")
    letters.undo("ann")
    assert letters.tags() == {"a": ("near",), "b": ("near",)}


def test_a_document_that_leaves_loses_its_tags_and_a_new_text_keeps_them(letters: nd.Collection) -> None:
    letters.tag("hot", ["a", "b", "c"], by="ann")
    letters.add(pa.table({"id": ["b"], "text": ["new words for this one"]}), on_duplicate="replace")
    letters.remove(["a"])
    assert letters.tags() == {"b": ("hot",), "c": ("hot",)}
    assert letters.check() == []
    letters.add(pa.table({"id": ["a"], "text": [TEXT]}))
    assert "a" not in letters.tags()
    with pytest.raises(NeardupError):
        letters.undo("ann")


def test_mistakes_are_explained(letters: nd.Collection) -> None:
    for tag, how, parts in (
        ("a;b", {"ids": ["a"]}, ("semicolon",)),
        (" ", {"ids": ["a"]}, ("empty",)),
        ("x", {}, ("No document",)),
        ("x", {"group": 99}, ("no group 99",)),
    ):
        with pytest.raises(InputError) as error:
            letters.tag(tag, **how)  # type: ignore[arg-type]
        assert has_parts(str(error.value), *parts)
    with pytest.raises(UnknownIdError):
        letters.tag("x", ["zz"])
    assert letters.tags() == {}


def test_the_commands_tag_export_and_import(run: Run, letters: nd.Collection, tmp_path: Path) -> None:
    path = letters.path
    letters.close()
    said = run("collection", "tag", path, "hot", "--id", "a", "--query", "something", "--by", "ann")
    assert (said.status, said.out) == (0, "hot added to 2 documents (action 1)\n")
    assert run("collection", "tag", path, "hot", "--id", "a", "--remove", "--by", "ann").out.startswith(
        "hot taken from 1 document"
    )
    assert run("collection", "tag", path, "hot", "--id", "a", "--remove").out == "nothing to change\n"
    assert run("collection", "tag", path, "hot").status == run("collection", "tag", path).status == 2
    found = run("collection", "search", path, "tag:hot OR tag:none", "--json").out
    assert [hit["id"] for hit in json.loads(found)["hits"]] == ["c"]
    tags = tmp_path / "tags.csv"
    assert run("export", path, "--what", "tags", "-o", tags).out.startswith("1 document written")
    assert tags.read_text(encoding="utf-8-sig") == "id,tags\nc,hot\n"
    tags.write_text("id,tags\na,new; hot\nc,hot\nzz,x\n")
    said = run("import", path, tags, "--by", "Cy")
    assert (said.status, said.out) == (1, "2 tags of 1 document added (action 3)\n")
    assert has_parts(said.err, "zz")
    shown = run("export", path, "--what", "tags", "-o", "-", "--format", "jsonl").out
    assert [json.loads(line) for line in shown.splitlines()] == [
        {"id": "a", "tags": ["hot", "new"]},
        {"id": "c", "tags": ["hot"]},
    ]
    assert (
        run("collection", "tag", path, "--undo", "--by", "Cy").out
        == "undo action 3: 2 decisions restored (action 4)\n"
    )
    assert run("collection", "tag", path, "--undo", "--by", "Cy").out == "nothing to undo\n"
    assert run("collection", "tag", path, "--action", "4", "--by", "ann").out.startswith(
        "redo action 3: 2 decisions"
    )
    assert has_parts(run("collection", "tag", path, "--action", "99").err, "no action 99")
    assert has_parts(run("collection", "tag", path, "hot", "--undo").err, "--undo")
    assert run("collection", "search", path, "tag:new", "--fields", "metadata").out.startswith("1 document")


def test_tags_are_a_field_of_queries(letters: nd.Collection) -> None:
    """With every operator of strings, beside metadata of this name; among few documents and among many."""
    letters.tag("hot", ["a", "b"])
    letters.tag("b c", ["b"])
    letters.update_metadata("d", {"tag": ["hot", 7]})
    for query, ids in (
        ("tag:hot", "abd"),
        ('tag="b c"', "b"),
        ("tag:Hot", ""),
        ("tag!=hot", ""),
        ('tag!="b c"', "ad"),
        ("tag<c", "b"),
        ("tag>=b tag<=h", "b"),
        ("tag>5 AND tag<8", "d"),
        ("NOT tag:hot", "c"),
        ('lazy AND tag:hot AND NOT tag:"b c"', "a"),
        ("FINGERPRINT:a_50 AND tag:hot", "b"),
        ("tag:hot OR tag:none", "abd"),
    ):
        assert "".join(sorted(hit.id for hit in letters.search(query).hits)) == ids, query
    assert letters.tag("seen", query="tag:hot AND NOT tag:seen") is not None
    assert letters.search("tag:seen").found == 3
    assert letters.tag("seen", query="tag:hot AND NOT tag:seen") is None
    explained = letters.search("EXPLAIN tag:hot").plan
    assert has_parts(str(describe(explained)), "tag", "metadata tag:hot")


def test_no_command_replaces_a_first_verdict_that_waits_for_the_second_one(
    letters: nd.Collection, run: Run, tmp_path: Path
) -> None:
    a, b, c = list(TEXTS)[:3]
    letters.decide(a, b, "duplicate", by="ann")
    first = letters.decide(b, c, "unsure", by="ann")
    store_reviewing(letters, [SecondReview(a, b, "bea")], by="max", what="draw")
    decide, file = ("collection", "decide", letters.path, b, a), tmp_path / "decisions.jsonl"
    for verdict in ("not alike", "undecided"):
        done = run(*decide, verdict, "--by", "bea")
        assert (done.status, has_parts(done.err, "1 pair", "second", "bea", "Batches")) == (2, True)
    assert run("collection", "tag", letters.path, "--action", "1", "--by", "bea").status == 2
    assert run("export", letters.path, "-o", file, "--what", "decisions").status == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    changed = [{**row, "decision": "not alike"} if row["decision"] == "duplicate" else row for row in rows]
    changed.append({"decision": "note", "id": a, "other": b, "note": "seen"})
    file.write_text("".join(json.dumps(row) + "\n" for row in changed), encoding="utf-8")
    done = run("import", letters.path, file, "--by", "bea")
    assert (done.status, has_parts(done.out, "nothing to add", "1 row of batches")) == (1, True)
    assert has_parts(done.err, "2 decisions left out", "bea", f"neardup serve --page {letters.path}")
    assert [(one.verdict, one.by) for one in letters.decisions()] == [("duplicate", "ann"), ("unsure", "ann")]
    assert first.by == "ann"
    assert run(*decide, "keep both", "--by", "cleo").status == 0


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_decisions_go_to_another_collection(letters: nd.Collection, run: Run, tmp_path: Path, form: str) -> None:
    a, b, c = list(TEXTS)[:3]
    letters.decide(a, b, "not alike", by="ann", note="=two offices")
    letters.decide(b, c, "unsure", by="ben")
    file, copy = tmp_path / f"decisions.{form}", tmp_path / "copy.neardup"
    with nd.Collection(copy) as other:
        other.add(pa.table({"id": [a, b], "text": [TEXTS[a], TEXTS[b]]}))
    assert run("export", letters.path, "-o", file, "--what", "decisions").status == 0
    done = run("import", copy, file, "--by", "cleo")
    assert (done.status, done.out) == (1, "1 decision added (action 1)\n")  # c is unknown there
    assert "1 id is" in done.err
    with nd.Collection(copy) as other:
        (held,) = other.decisions()
        assert (held.a, held.b, held.verdict, held.by, held.note) == (a, b, "not alike", "cleo", "=two offices")
    assert run("import", copy, file, "--by", "cleo").out == "nothing to add\n"
    withdrawn = tmp_path / "withdrawn.csv"
    withdrawn.write_text(f"id,other,decision\n{b},{a},none\n{a},{b},\n", encoding="utf-8")
    assert run("import", copy, withdrawn, "--by", "cleo").status == 0
    withdrawn.write_text(f"id,other,decision\n{b},{a},perhaps\n", encoding="utf-8")
    assert "perhaps" in run("import", copy, withdrawn, "--by", "cleo").err
    with nd.Collection(copy) as other:
        assert not list(other.decisions())
