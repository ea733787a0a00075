"""Pairs as a graph: GraphML that a reader of XML understands, edge lists, and the neighbours of a document."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.deduplication.run.graph import EDGES, around, edges_of
from neardup.errors import InputError, SettingError
from neardup.io.writers.exports import as_bytes_of
from support.command_line import Run
from support.hostile_ids import HOSTILE
from support.messages import has_parts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away"
XMLNS = "{http://graphml.graphdrawing.org/xmlns}"
FORMS = ("csv", "jsonl", "parquet", "graphml")


def read_graphml(data: bytes) -> tuple[dict[str, dict[str, str]], list[dict[str, Any]]]:
    """The data of each node by its id, and the edges, as a reader of GraphML has them."""
    root = ElementTree.parse(io.BytesIO(data)).getroot()
    assert root.tag == f"{XMLNS}graphml"
    declared = {key.get("id"): key.get("for") for key in root.iter(f"{XMLNS}key")}
    [graph] = root.findall(f"{XMLNS}graph")

    def values(element: ElementTree.Element, kind: str) -> dict[str, str]:
        found = {part.get("key", ""): part.text or "" for part in element}
        assert all(declared[name] == kind for name in found)
        return found

    nodes = {node.get("id", ""): values(node, "node") for node in graph.iter(f"{XMLNS}node")}
    edges = [{**edge.attrib, **values(edge, "edge")} for edge in graph.iter(f"{XMLNS}edge")]
    assert {edge[end] for edge in edges for end in ("source", "target")} == set(nodes)
    return nodes, edges


def edge_table(pairs: Mapping[tuple[str, str], float]) -> pa.Table:
    rows = [
        {"id_a": a, "id_b": b, "similarity": value, "kind": "near", "a_in_reference": False}
        for (a, b), value in pairs.items()
    ]
    return pa.Table.from_pylist(rows, EDGES)


def test_pairs_and_copies_of_a_result_with_a_reference_set() -> None:
    new = pa.table({"id": ["a", "b", "c", "d"], "text": [TEXT, TEXT + " today", TEXT + " today", "else"]})
    old = pa.table({"id": ["a", "z"], "text": [TEXT + " today", "no"]})
    found = nd.find(new, against=old, threshold=0.6, pairs="all")
    edges = {
        (row["id_a"], row["a_in_reference"], row["id_b"]): (row["similarity"], row["kind"])
        for row in edges_of(found).to_pylist()
    }
    assert edges == {("a", True, "a"): (0.9, "near"), ("a", True, "b"): (1, "copy"), ("a", True, "c"): (1, "copy")}
    nodes, written = read_graphml(b"".join(as_bytes_of(edges_of(found), "graphml")))
    names = {(node["id"], node.get("reference")) for node in nodes.values()}
    assert names == {("a", "true"), ("a", None), ("b", None), ("c", None)}
    assert [(float(edge["weight"]), edge["kind"]) for edge in written] == list(edges.values())


@given(ids=st.lists(st.one_of(st.text(max_size=5), st.sampled_from(HOSTILE)), min_size=2, max_size=6, unique=True))
def test_hostile_ids_are_data_and_stay_apart(ids: list[str]) -> None:
    table = edge_table({(ids[0], other): 1 / (2 + place) for place, other in enumerate(ids[1:])})
    nodes, edges = read_graphml(b"".join(as_bytes_of(table, "graphml")))
    assert len(nodes) == len(ids)
    for node, id in zip(nodes.values(), ids, strict=True):
        plain = all(character >= " " or character in "\t\n" for character in id) and "\ufffe" not in id
        if plain and "\uffff" not in id:
            assert node["id"] == id
    assert [float(edge["weight"]) for edge in edges] == table["similarity"].to_pylist()


@given(
    pairs=st.dictionaries(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), st.floats(0.1, 1)),
    hops=st.integers(1, 4),
    most=st.integers(1, 9),
)
def test_neighbours_are_those_of_a_walk_over_the_pairs(
    pairs: dict[tuple[str, str], float], hops: int, most: int
) -> None:
    pairs = {(a, b): value for (a, b), value in pairs.items() if a < b}
    if not any("a" in pair for pair in pairs):
        return
    inside, left_out = {"a"}, 0
    edge = {"a"}
    for _ in range(hops):
        near: dict[str, float] = {}
        for (a, b), value in pairs.items():
            for own, other in ((a, b), (b, a)):
                if own in edge and other not in inside:
                    near[other] = max(value, near.get(other, 0))
        room = most - len(inside)
        best = sorted(near.values(), reverse=True)
        if len(near) > room and room > 0 and best[room - 1] == best[room]:
            return  # the order of the table decides
        edge = set(sorted(near, key=lambda one: -near[one])[:room])
        inside |= edge
        left_out = len(near) - len(edge)
        if left_out:
            break
    found = around(edge_table(pairs), "a", hops, most)
    assert (found.documents, found.left_out) == (len(inside), left_out)
    expected = {pair for pair in pairs if set(pair) <= inside}
    assert {(row["id_a"], row["id_b"]) for row in found.edges.to_pylist()} == expected


def test_mistakes_are_explained() -> None:
    table = edge_table({("a", "b"): 0.5})
    for asked, parts in ((("c",), ("id c",)), (("a", 0), ("hops is 0", "1 to 10")), (("a", 1, 0), ("most is 0",))):
        with pytest.raises((InputError, SettingError)) as error:
            around(table, *asked)  # type: ignore[arg-type]
        assert has_parts(str(error.value), *parts)


def test_the_command_writes_every_form_and_states_its_limit(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    texts = [TEXT, TEXT + " today", TEXT + " today and then", TEXT]
    nd.find(pa.table({"id": ["a", "=b", "c", "d"], "text": texts}), threshold=0.6, pairs="all").save(out)
    for form in FORMS:
        done = run("export", out, "--what", "pairs", "-o", tmp_path / f"pairs.{form}")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("4 pairs written to")
    nodes, edges = read_graphml((tmp_path / "pairs.graphml").read_bytes())
    assert sorted(node["id"] for node in nodes.values()) == ["=b", "a", "c", "d"]
    assert [edge["kind"] for edge in edges] == ["near", "near", "near", "copy"]
    assert run("export", out, "--what", "pairs", "-o", tmp_path / "pairs.graphml", "--overwrite").status == 0
    near = run("export", out, "--what", "pairs", "--around", "d", "-o", "-", "--format", "jsonl")
    assert [json.loads(line)["id_b"] for line in near.out.splitlines()] == ["d"]
    walk = ("--what", "pairs", "--around", "d", "--hops", "2", "--most", "3", "-o", "-", "--format", "jsonl")
    limited = run("export", out, *walk)
    assert len(limited.out.splitlines()) == 2
    assert has_parts(limited.err, "1 document", "--most is 3")
    for wrong, parts in (
        (("--what", "pairs", "--hops", "2"), ("--hops", "--around")),
        (("--around", "a"), ("--around", "--what pairs")),
        (("--what", "pairs", "--around", "zz"), ("zz",)),
    ):
        refused = run("export", out, *wrong, "-o", tmp_path / "x.csv")
        assert refused.status == 2
        assert has_parts(refused.err, *parts)


def test_members_of_a_collection_are_edges_to_their_representatives(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "letters.neardup"
    with nd.Collection(path) as collection:
        texts = [TEXT, TEXT + " today", "something else that is not like the others at all, and long enough"]
        collection.add(pa.table({"id": ["a", "b", "c"], "text": texts}), on_near="link", near=0.5)
        collection.decide("a", "c", "duplicate", by="Ann")
    said = run("export", path, "--what", "pairs", "-o", tmp_path / "g.graphml")
    assert said.out.startswith("2 pairs written to")
    nodes, edges = read_graphml((tmp_path / "g.graphml").read_bytes())
    ends = [(nodes[edge["source"]]["id"], nodes[edge["target"]]["id"], edge["kind"]) for edge in edges]
    assert ends == [("a", "b", "near"), ("a", "c", "decision")]
