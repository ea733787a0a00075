"""Any pair, anywhere: rows of files, documents of results and of collections, compared and shown."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.places import StoredPlaces
from neardup.errors import InputError
from support.command_line import BASE, NEAR, OTHER, ROWS, Run, write_rows
from support.messages import assert_refused, has_parts
from support.sealed import seal

RESEMBLANCE = nd.compare(BASE, NEAR).measures["resemblance"]


@pytest.fixture
def result(run: Run, mails: Path, tmp_path: Path) -> Path:
    """a and c are copies of each other, b is near them, d is alone."""
    assert run("dedup", mails, "-o", tmp_path / "result", "--threshold", "0.6").status == 0
    return tmp_path / "result"


def measured(out: str) -> float:
    return float(json.loads(out)["measures"]["resemblance"])


# --- compare


def test_two_documents_of_a_result(run: Run, result: Path, mails: Path) -> None:
    said = run("compare", result, "b", "a")
    assert (said.status, said.err) == (0, "")
    head = " ".join(said.out.split("\n\n")[0].split())
    assert head.startswith(
        f"A b: row 1 of {mails}; removed: near copy of a: resemblance 0.979 B a: row 0 of {mails}; "
    )
    assert head.endswith(
        "kept: represents 2 other documents result resemblance 0.979, shared 95 of 96 + 96 shingles"
    )
    assert said.out.split("\n\n", 1)[1] == nd.compare(NEAR, BASE).text(names=("b", "a")) + "\n"


def test_documents_in_other_pairs_are_compared(run: Run, tmp_path: Path) -> None:
    rows = [*ROWS, {"id": "e", "text": OTHER + " and more"}]
    run("dedup", write_rows(tmp_path / "a.jsonl", rows), "-o", tmp_path / "r", "--threshold", "0.6")
    said = run("compare", tmp_path / "r", "d", "c")
    assert "d: row 3 of" in said.out
    assert has_parts(said.out, "not a stored pair", "0.600")


def test_the_text_of_a_document_in_no_pair_is_not_stored(run: Run, result: Path) -> None:
    said = run("compare", result, "d", "c")
    assert (said.status, said.out) == (2, "")
    assert has_parts(said.err, "text of d", "not stored")
    shown = run("show", result, "d")
    assert (shown.status, shown.out.split()[:2]) == (0, ["document", "d"])
    assert has_parts(shown.out, "text of d", "not stored")


def test_json_has_the_places_and_the_fates(run: Run, result: Path, mails: Path) -> None:
    found = json.loads(run("compare", result, "b", "c", "--json").out)
    assert found["document_a"] == {
        "id": "b",
        "where": f"row 1 of {mails}",
        "fate": "removed: near copy of a: resemblance 0.979",
    }
    assert found["document_b"]["where"] == f"row 2 of {mails}"
    assert found["measures"] == nd.compare(NEAR, BASE.upper()).as_dict()["measures"]


def test_the_shingles_are_those_of_the_run_unless_asked_for(run: Run, mails: Path, tmp_path: Path) -> None:
    run("dedup", mails, "-o", tmp_path / "r", "--length", 3)
    assert measured(run("compare", tmp_path / "r", "a", "b", "--json").out) == 97 / 99
    assert measured(run("compare", tmp_path / "r", "a", "b", "--json", "--length", 5).out) == RESEMBLANCE


def test_rows_of_files_of_two_formats(run: Run, mails: Path, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    said = run("compare", f"{mails}#0", f"{tmp_path / 'rows.parquet'}#1", "--json")
    assert (said.status, measured(said.out)) == (0, RESEMBLANCE)
    assert run("compare", f"{mails}#0", f"{mails}#0", "--text", "id", "--json").status == 0
    (tmp_path / "odd#7").write_text(BASE, encoding="utf-8")
    assert measured(run("compare", tmp_path / "odd#7", f"{mails}#1", "--json").out) == RESEMBLANCE


def test_two_documents_of_a_collection(run: Run, mails: Path, tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    run("collection", "add", path, mails, "--text", "text", "--id", "id")
    said = run("compare", path, "a", "b", "--json")
    assert (said.status, measured(said.out)) == (0, RESEMBLANCE)
    assert "'x'" in run("compare", path, "a", "x").err
    with nd.Collection(path, readonly=True) as collection:
        assert collection.compare("a", "b").measures["resemblance"] == RESEMBLANCE
        assert collection.compare("a", "b", length=3).measures["resemblance"] == 97 / 99


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{result}", "a"), "is a result, and two ids must follow it"),
        (("{result}", "a", "nobody"), "The text of nobody is not stored"),
        (("{result}/no", "a", "b"), "There is no result or collection"),
        (("{mails}#4", "{mails}#0"), "has no row 4"),
        (("{mails}#0", "{mails}#0", "--text", "no"), 'There is no column "no"'),
        (("{mails}#0", "{mails}#0", "--encoding", "no"), "encoding is 'no'"),
        (("--literal", "a", "b", "c"), "--literal was given with three arguments"),
    ],
)
def test_wrong_names_are_errors(
    run: Run, result: Path, mails: Path, arguments: tuple[str, ...], said: str
) -> None:
    found = run("compare", *(argument.format(result=result, mails=mails) for argument in arguments))
    assert (found.status, found.out) == (2, "")
    assert said in found.err
    assert "Traceback" not in found.err


# --- show


def test_show_is_the_document_its_group_and_the_nearest_others(run: Run, result: Path, mails: Path) -> None:
    said = run("show", result, "b")
    lines = {line.split("  ")[0]: line for line in said.out.splitlines() if not line.startswith(" ")}
    assert said.status == 0
    assert list(lines) == ["document", "where", "text", "columns", "fate", "group", "outside", "compare"]
    assert lines["columns"].split() == ["columns", "year:", "2003"]
    assert f"row 1 of {mails} " in " ".join(said.out.split())
    assert lines["group"].endswith("3 documents: 1 kept, 2 removed")
    assert "removed  b (this document): near copy of a" in said.out
    assert "Of its 96 shingles 95 (98.9 %) are in a" in " ".join(said.out.split())
    assert "1 of its 96 shingles is lost" in " ".join(said.out.split())
    assert has_parts(" ".join(said.out.split()), "no stored pair", "0.600")
    assert f"neardup compare {result} b a" in " ".join(said.out.split())


def test_show_lists_the_documents_just_outside(run: Run, tmp_path: Path) -> None:
    words = BASE.split()
    chain = [" ".join(["new"] * (10 * k) + words[10 * k :]) for k in range(4)]
    path = write_rows(tmp_path / "chain.jsonl", [{"id": k, "text": text} for k, text in enumerate(chain)])
    assert run("group", path, "-o", tmp_path / "r", "--threshold", "0.7").status == 0
    found = nd.load(tmp_path / "r")
    outside = {id: found.outside(id) for id in range(4)}
    groups = dict(zip(found.groups["id"].to_pylist(), found.groups["group"].to_pylist(), strict=True))
    pairs = zip(*(found.pairs[name].to_pylist() for name in ("id_a", "id_b", "resemblance")), strict=True)
    crossing = {(a, b): value for a, b, value in pairs if groups.get(a, a) != groups.get(b, b)}
    assert crossing
    for id, listed in outside.items():
        inside = {other for other in range(4) if groups.get(other, other) == groups.get(id, id)}
        ends = [(b, value) if a in inside else (a, value) for (a, b), value in crossing.items() if inside & {a, b}]
        best = {other: max(value for end, value in ends if end == other) for other, _ in ends}
        assert {near.id: near.similarity for near in listed} == best
        assert [near.similarity for near in listed] == sorted(best.values(), reverse=True)
    said = " ".join(run("show", tmp_path / "r", "0").out.split())
    near = outside[0][0] if outside[0] else outside[1][0]
    assert f"{near.id}: resemblance " in said or not outside[0]


def test_show_as_data(run: Run, result: Path, mails: Path) -> None:
    found = json.loads(run("show", result, "c", "--json").out)
    assert (found["id"], found["path"], found["row"], found["text"]) == ("c", str(mails), 2, BASE.upper())
    assert (found["group"], found["outside"], found["not_read"]) == ("a", [], None)
    assert [member["id"] for member in found["members"]] == ["a", "b", "c"]


def test_show_needs_no_input(run: Run, result: Path, mails: Path) -> None:
    before = run("show", result, "b").out
    mails.unlink()
    assert run("show", result, "b").out == before
    assert run("show", result, "nobody").status == 2
    assert run("show", result, "b", "--limit", 0).status == 2


def test_a_private_result_shows_all_but_texts(run: Run, result: Path, mails: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    assert run("dedup", mails, "-o", private, "--threshold", "0.6", "--no-store-texts").status == 0
    names, others = ({path.name for path in folder.iterdir()} for folder in (private, result))
    assert others - names == {"texts.parquet"}
    assert names < others
    shown = json.loads(run("show", private, "b", "--json").out)
    assert "holds no texts" in shown["not_read"]
    whole = json.loads(run("show", result, "b", "--json").out)
    assert {name for name in whole if whole[name] != shown[name]} == {"path", "row", "text", "fields", "not_read"}
    said = run("compare", private, "a", "b")
    assert (said.status, said.out) == (2, "")
    assert "without --no-store-texts" in " ".join(said.err.split())
    assert run("regroup", private, "--threshold", "0.9", "-o", tmp_path / "strict").status == 0
    assert not (tmp_path / "strict" / "texts.parquet").exists()
    assert run("apply", private, "-o", tmp_path / "final").status == 0
    assert (tmp_path / "final" / "kept.jsonl").read_bytes() == (result / "kept.jsonl").read_bytes()


def test_text_with_control_characters_is_shown_escaped(run: Run, tmp_path: Path) -> None:
    rows = [{"id": f"x\x1b[2J{k}", "text": f"{BASE} \x1b[2J \u202e end"} for k in range(2)]
    path = write_rows(tmp_path / "a.jsonl", rows)
    run("dedup", path, "-o", tmp_path / "r")
    for arguments in (
        ("show", tmp_path / "r", rows[0]["id"]),
        ("compare", tmp_path / "r", *(r["id"] for r in rows)),
    ):
        said = run(*arguments)
        assert said.status == 0
        assert "\x1b" not in said.out
        assert "\u202e" not in said.out
        assert r"x\x1b[2J0" in said.out


# --- in Python


def test_a_result_of_documents_in_memory_reads_them_while_they_are_there(tmp_path: Path) -> None:
    found = nd.find([BASE, NEAR, OTHER], threshold=0.6)
    assert found.compare(0, 1).measures["resemblance"] == RESEMBLANCE
    assert (found.look(2).text, has_parts(found.look(2).where, "row 2", "memory")) == (OTHER, True)
    assert found.at(0.9).look(1).text == NEAR
    found.save(tmp_path / "private", store_texts=False)
    found.save(tmp_path / "texts")
    stored = nd.load(tmp_path / "texts")
    assert stored.compare(0, 1).measures["resemblance"] == RESEMBLANCE
    assert stored.look(1) == found.look(1)
    assert_refused(
        (InputError, "no document 3", lambda: found.look(3)),
        (InputError, "no texts to show", lambda: nd.load(tmp_path / "private").look(0)),
        (InputError, "The text of 2 is not stored", lambda: stored.look(2)),
    )
    stored.save(tmp_path / "again")
    assert nd.load(tmp_path / "again").look(1).text == NEAR
    stored.save(tmp_path / "without", store_texts=False)
    assert nd.load(tmp_path / "without").texts is None


def test_every_document_of_every_kind_of_input_is_read_as_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    for name, text in (("a.txt", BASE), ("sub/b.txt", NEAR), ("c.html", f"<p>{BASE}")):
        (tmp_path / "folder" / name).write_text(text, encoding="utf-8")
    (tmp_path / "data").mkdir()
    write_rows(tmp_path / "data" / "a#1.jsonl", [{"text": BASE}, {"no": 1}, {"text": BASE}])
    write_rows(tmp_path / "data" / "b.jsonl", [{"text": NEAR}])
    for name, ids in (
        ("folder", ["a.txt", "sub/b.txt", "c.html"]),
        ("data", [f"{tmp_path}/data/a#1.jsonl#0", f"{tmp_path}/data/a#1.jsonl#2", f"{tmp_path}/data/b.jsonl#0"]),
    ):
        found = nd.find(tmp_path / name, threshold=0.6, progress=None)
        found.save(tmp_path / f"{name}.result")
        stored = nd.load(tmp_path / f"{name}.result")
        for id in ids:
            assert stored.look(id) == found.look(id)
        assert {stored.look(id).text for id in ids} == {BASE, NEAR}


def test_documents_of_a_reference_set(tmp_path: Path) -> None:
    old = write_rows(tmp_path / "old.jsonl", [{"id": "a", "text": BASE}, {"id": "z", "text": OTHER}])
    new = write_rows(tmp_path / "new.jsonl", [{"id": "a", "text": NEAR}, {"id": "b", "text": BASE + " more"}])
    found = nd.find(new, against=old, threshold=0.6)
    found.save(tmp_path / "r")
    assert (found.look("z").text, found.look("z").path) == (OTHER, str(old))
    for result in (found, nd.load(tmp_path / "r")):
        assert result.look("a").text == NEAR  # the new input counts where both have the id
        assert (result.look("b").text, result.look("b").path) == (BASE + " more", str(new))


def test_a_stored_result_is_as_it_was_when_the_input_changes(run: Run, mails: Path, tmp_path: Path) -> None:
    for command in ("dedup", "group"):
        assert run(command, mails, "-o", tmp_path / command, "--threshold", "0.6").status == 0
    mails.write_bytes(mails.read_bytes().replace(b"word50", b"WORD50"))
    for command in ("dedup", "group"):
        said = run("compare", tmp_path / command, "c", "b", "--json")
        assert (said.status, measured(said.out)) == (0, RESEMBLANCE)
        assert f"row 2 of {mails}" in said.out
    assert run("regroup", tmp_path / "dedup", "--threshold", "0.9", "-o", tmp_path / "strict").status == 0
    assert nd.load(tmp_path / "strict").look("b").text == NEAR
    said = run("apply", tmp_path / "dedup", "-o", tmp_path / "final")  # the kept rows are read from the input
    assert said.status == 2
    assert has_parts(said.err, f"{mails} changed since", "its content")
    assert "Give --inputs" in said.err


# --- results that somebody else made


def replaced(result: Path, table_name: str, /, **columns: Any) -> None:
    table = pq.read_table(result / f"{table_name}.parquet")
    for column, value in columns.items():
        field = table.schema.field(column)
        values = pa.array(value if isinstance(value, list) else [value] * table.num_rows, field.type)
        table = table.set_column(table.schema.names.index(column), field, values)
    pq.write_table(table, result / f"{table_name}.parquet")
    seal(result)


def inputs_of(result: Path) -> object:
    places = nd.load(result).places
    assert isinstance(places, StoredPlaces)
    return places.inputs(())


def test_a_result_does_not_lead_to_a_file_that_the_run_did_not_read(result: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    write_rows(secret, [{"id": "a", "text": "my secret"}] * 4)
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"path": str(secret), "size": secret.stat().st_size}, r"secret\.jsonl changed since"),
        ({"digest": None}, "no digest"),
        ({"path": "http://127.0.0.1:9/a.jsonl"}, r"URL.*not fetched"),
        ({"path": str(tmp_path)}, "cannot be used"),
    )
    for columns, words in changes:
        replaced(result, "places", **columns)
        with pytest.raises(InputError, match=words) as refused:
            inputs_of(result)
        assert "my secret" not in str(refused.value)


def test_impossible_places_are_refused(result: Path) -> None:
    for name, columns in (
        ("places", {"format": "no"}),
        ("places", {"name": None}),
        ("located", {"file": [0, 0, 9]}),
        ("located", {"row": [2, 1, 0]}),
        ("located", {"number": [-1, 1, 2]}),
    ):
        replaced(result, name, **columns)
        with pytest.raises(InputError, match="its places cannot"):
            nd.load(result)
        replaced(result, "places", format="jsonl", name="mails.jsonl")
        replaced(result, "located", file=0, row=[0, 1, 2], number=[0, 1, 2])


def test_a_result_without_places_shows_its_texts(run: Run, result: Path, tmp_path: Path) -> None:
    for name in ("places", "located"):
        (result / f"{name}.parquet").unlink()
    seal(result)
    assert nd.load(result).look("b").text == NEAR
    said = run("apply", result, "-o", tmp_path / "final")
    assert said.status == 2
    assert "not record where" in said.err


def test_changed_stored_texts_are_refused(run: Run, mails: Path, tmp_path: Path) -> None:
    run("dedup", mails, "-o", tmp_path / "r", "--threshold", "0.6")
    path = tmp_path / "r" / "texts.parquet"
    content = path.read_bytes()
    path.write_bytes(content + b"x")
    with pytest.raises(InputError):
        nd.load(tmp_path / "r")
    damaged = bytearray(content)
    column = pq.read_metadata(pa.BufferReader(content)).row_group(0).column(1)
    damaged[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="cannot be read"):
        nd.load(tmp_path / "r").look("a")
    path.write_bytes(content)
    shutil.copytree(tmp_path / "r", tmp_path / "other")
    pq.write_table(pq.read_table(path).slice(1), tmp_path / "other" / "texts.parquet")
    seal(tmp_path / "other")
    with pytest.raises(InputError, match="texts of other"):
        nd.load(tmp_path / "other").look("a")
    for fields in ("no json", "[1]", '{"a": 1}'):
        values = pa.array([fields] * 3, pa.string())
        pq.write_table(pq.read_table(path).set_column(2, "fields", values), tmp_path / "other" / "texts.parquet")
        seal(tmp_path / "other")
        texts = nd.load(tmp_path / "other").texts
        assert texts is not None
        with pytest.raises(InputError, match=r"texts\.parquet cannot be used"):
            texts.fields(0)
