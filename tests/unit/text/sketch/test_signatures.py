"""Signatures in Arrow and Parquet: written, read, compared; other families, versions and packages refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import FormatError, InputError, OutputError
from neardup.text.sketch.signatures import FAMILIES
from support.messages import assert_refused

TEXTS = ["The night is dark and the moon is red over the harbour.", "", "the moon is red", "Ünïcode — 東京 は 夜"]
IDS = ["a", "b", "c", "d"]
PAIRS = [(0, 2), (1, 1), (3, 0), (2, 2)]


def families() -> dict[str, Any]:
    """Return one family of each kind that makes signatures."""
    return {
        "minhash": nd.MinHash(16, length=2, unit="char"),
        "classic": nd.MinHash(16, sketch="classic"),
        "sampled shingles": nd.SampledShingles(2, 3, length=1),
        "bottom-k": nd.BottomK(4),
        "mod-p": nd.ModP(5, prime=10_007, seed=3, length=2),
        "mod-p of given coefficients": nd.ModP(prime=17, coefficients=[(4, 9), (14, 4)]),
        "multiply-shift": nd.MultiplyShift(7, bits=20),
        "bucketed minhash": nd.BucketMinHash(2, 16),
        "buckets of three": nd.BucketMinHash(1, 8, 3, length=1),
        "b-bit minhash": nd.BBit(nd.MinHash(16, length=3, sketch="classic")),
        "weighted minhash": nd.WeightedMinHash(6, length=2),
        "1 bit of weighted": nd.BBit(nd.WeightedMinHash(40), 1),
        "16 bits of mod-p": nd.BBit(nd.ModP(9, unit="char"), 16),
    }


@pytest.fixture(params=families())
def family(request: pytest.FixtureRequest) -> Any:
    return families()[request.param]


def test_every_family_is_tested_here() -> None:
    kinds = {made.provenance().family for made in families().values()}
    assert kinds == set(FAMILIES) - {"datasketch minhash", "simhash"}  # these have tests of their own


@pytest.mark.part(4)
@pytest.mark.parametrize("name", ["one.parquet", "one.arrow", "one.feather", "ONE.PQ"])
def test_a_file_holds_what_was_written(family: Any, name: str, tmp_path: Path) -> None:
    made = family.sketch(TEXTS)
    nd.write_signatures(family.to_arrow(IDS, made), tmp_path / name)
    found = nd.read_signatures(tmp_path / name)
    assert found.provenance == family.provenance()
    assert found.ids.to_pylist() == IDS
    assert len(found) == 4
    assert np.array_equal(found.resemblances(PAIRS), family.resemblances(made, PAIRS))
    assert np.array_equal(found.resemblances(PAIRS, found), found.resemblances(PAIRS))
    assert found.to_arrow().equals(family.to_arrow(IDS, made), check_metadata=True)
    assert np.array_equal(found.family.resemblances(found.values, PAIRS), found.resemblances(PAIRS))
    again = family.sketch(TEXTS)
    assert np.array_equal(getattr(found.values, "hashes", found.values), getattr(again, "hashes", again))


def test_signatures_of_ids_are_told_apart(family: Any) -> None:
    offsets = np.array([0, 2, 5])
    made = family.sketch_ids([1, 2, 3, 4, 5], offsets)
    made = made[0] if isinstance(family, nd.MinHash) else made
    kind = {} if hasattr(made, "hashes") else {"of_ids": True}
    found = nd.read_signatures(family.to_arrow([7, 8], made, **kind))
    assert found.of_ids
    assert found.ids.to_pylist() == [7, 8]
    with pytest.raises(FormatError):
        found.resemblances([(0, 0)], nd.read_signatures(family.to_arrow(IDS, family.sketch(TEXTS))))


def test_what_is_stored_with_signatures(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    nd.write_signatures(nd.MinHash(16).to_arrow(IDS, nd.MinHash(16).sketch(TEXTS)), path)
    schema = pq.read_schema(path)
    assert json.loads(schema.metadata[b"neardup"]) == {
        "family": "minhash",
        "version": 2,
        "unicode": "15.0.0",
        "sketch": "one-permutation",
        "slots": 16,
        "seed": "0x6e65617264757031",
        "of": "texts",
        "length": 5,
        "unit": "word",
    }
    assert schema.field("signature").type == pa.list_(pa.uint32(), 16)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", families())
def test_two_families_are_refused_and_both_are_named(name: str) -> None:
    mine, others = families()[name], {**families(), "other length": nd.MinHash(16, length=3, unit="char")}
    one = nd.read_signatures(mine.to_arrow(IDS, mine.sketch(TEXTS)))
    for other_name, other in others.items():
        if other_name == name:
            continue
        two = nd.read_signatures(other.to_arrow(IDS, other.sketch(TEXTS)))
        with pytest.raises(FormatError) as caught:
            one.resemblances([(0, 0)], two)
        assert f"One side is {mine.provenance()}; the other is {other.provenance()}." in str(caught.value)


def changed(**values: object) -> pa.Table:
    """Return a table of MinHash signatures whose metadata say something else."""
    table = nd.MinHash(16).to_arrow(IDS, nd.MinHash(16).sketch(TEXTS))
    whole = json.loads(table.schema.metadata[b"neardup"]) | values
    return table.replace_schema_metadata({b"neardup": json.dumps(whole).encode()})


def samples(lists: list[list[int]], kind: pa.DataType) -> pa.Table:
    family = nd.SampledShingles()
    return family.to_arrow(IDS, family.sketch(TEXTS)).set_column(1, "signature", pa.array(lists, kind))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (samples([[3, 2], [], [], []], pa.large_list(pa.uint64())), "not ascend"),
        (samples([[1, 1], [], [], []], pa.large_list(pa.uint64())), "not ascend"),
        (pa.table({"id": IDS}), "does not say how its signatures were made"),
        (changed().replace_schema_metadata({b"neardup": b"["}), "does not say how"),
        (changed().replace_schema_metadata({b"neardup": b"[1]"}), "does not say how"),
        (changed(family=["minhash"]), "does not say how"),
        (changed().replace_schema_metadata({b"neardup": b"[" * 100_000}), "does not say how"),
        (changed(version=1), r"version 1, Unicode 15\.0\.0.*version 2 with Unicode 15\.0\.0"),
        (changed(unicode="16.0.0"), r"minhash \(version 2, Unicode 16\.0\.0.*Sketch the texts again"),
        (changed(family="other"), "The signatures are other .*Families of this program: minhash"),
        (changed(seed="0x1"), "seed 0x1"),
        (changed(slots=100), "slots 100"),
        (changed(slots=32), "says minhash .*slots 32.*holds other signatures"),
        (changed(more=1), "more 1"),
        (changed(family="b-bit minhash"), "The signatures are b-bit minhash"),
        (changed(family="b-bit minhash", bits=8, base="b-bit minhash", base_parameters={}), "b-bit minhash"),
        (changed(family="b-bit minhash", bits=8, base="minhash", base_parameters=[]), "b-bit minhash"),
        (changed(family="b-bit minhash", bits=8, base={}, base_parameters={}), "b-bit minhash"),
        (changed(slots=[16]), r"slots \[16\]"),
        (changed(family="\x1b[2J"), r"The signatures are \?\[2J"),
        (changed().drop_columns("id"), "no columns id and signature"),
        (changed().set_column(1, "signature", pa.array([1] * 4)), "The column signature holds int64"),
        (changed().set_column(1, "signature", pa.array([[1]] * 4)), "holds list<.*int64"),
        (
            changed().set_column(1, "signature", pa.array([[1] * 16] * 3 + [None], pa.list_(pa.uint32(), 16))),
            "has gaps",
        ),
        (
            changed().set_column(1, "signature", pa.array([[1] * 16] * 4, pa.list_(pa.uint64(), 16))),
            "holds other signatures",
        ),
    ],
)
def test_tables_that_are_no_signatures(table: pa.Table, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        nd.read_signatures(table)


def test_samples_are_read_from_lists_of_any_kind() -> None:
    fine = samples([[5, 9], [], [1], [1, 2]], pa.list_(pa.uint64()))
    assert nd.read_signatures(fine.slice(2)).resemblances([(0, 1)]).tolist() == [0.5]


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    table = changed()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "empty.arrow").write_bytes(b"")
    assert_refused(
        (InputError, r"not a table .*can be read", lambda: nd.read_signatures(tmp_path / "bad.parquet")),
        (InputError, r"not a table .*can be read", lambda: nd.read_signatures(tmp_path / "empty.arrow")),
        (InputError, "", lambda: nd.read_signatures(tmp_path / "none.parquet")),
        (OutputError, r"one of \.parquet", lambda: nd.write_signatures(table, tmp_path / "one.csv")),
        (OutputError, "", lambda: nd.write_signatures(table, tmp_path / "bad.parquet" / "one.parquet")),
    )
    nd.write_signatures(table, tmp_path / "one.parquet")
    with pytest.raises(OutputError):
        nd.write_signatures(table, tmp_path / "one.parquet")
    nd.write_signatures(nd.read_signatures(table), tmp_path / "one.parquet", overwrite=True)
    for name in ("bad.parquet", "empty.arrow"):  # files of others
        with pytest.raises(OutputError):
            nd.write_signatures(table, tmp_path / name, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.parquet", "empty.arrow", "one.parquet"]


@pytest.mark.parametrize(
    ("ids", "made", "message"),
    [
        (["a"], np.zeros((2, 16), np.uint32), "There are 1 ids for 2 signatures"),
        ([object()], np.zeros((1, 16), np.uint32), "Arrow cannot hold the ids"),
        (["a"], np.zeros((1, 8), np.uint32), r"The signatures are uint32\[1, 8\]\. Allowed: uint32\[n, 16\]"),
        (["a"], np.zeros((1, 16), np.uint64), r"The signatures are uint64\[1, 16\]"),
        (["a"], [[1] * 16], "The signatures are a list"),
    ],
)
def test_what_makes_no_table(ids: Any, made: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nd.MinHash(16).to_arrow(ids, made)


def test_a_table_written_by_another_program(tmp_path: Path) -> None:
    """Chunks, slices and large lists are read as well."""
    table = changed()
    pq.write_table(pa.concat_tables([table.slice(0, 1), table.slice(1)]), tmp_path / "x.parquet", row_group_size=1)
    found = nd.read_signatures(tmp_path / "x.parquet")
    assert np.array_equal(found.values, nd.MinHash(16).sketch(TEXTS))
    assert np.array_equal(nd.read_signatures(table.slice(2)).values, nd.MinHash(16).sketch(TEXTS[2:]))
    empty = nd.MinHash(16).to_arrow([], nd.MinHash(16).sketch([]))
    assert len(nd.read_signatures(empty)) == 0


# datasketch


def stand_in(values: list[int], kind: type = np.uint32, **more: object) -> SimpleNamespace:
    """Return the contents of a MinHash of datasketch."""
    made = {"hashvalues": np.array(values, kind), "seed": 1, "num_perm": len(values), "scheme": "affine32"}
    return SimpleNamespace(**(made | more))


def test_objects_of_datasketch_are_taken_over(tmp_path: Path) -> None:
    objects = [stand_in([1, 2, 3, 4]), stand_in([1, 2, 5, 6]), stand_in([2**32 - 1] * 4)]
    made = nd.from_datasketch(objects, ["x", "y", "z"])
    assert made.resemblances([(0, 1), (0, 2)]).tolist() == [0.5, 0]
    assert str(made.provenance) == (
        "datasketch minhash (version 2, Unicode 15.0.0, num_perm 4, seed 1, scheme affine32, of sets)"
    )
    nd.write_signatures(made, tmp_path / "d.parquet")
    assert nd.read_signatures(tmp_path / "d.parquet").resemblances([(0, 1)], made).tolist() == [0.5]
    assert nd.LSH(made.values, rows=2).pairs().num_rows == 1


def test_objects_of_older_versions_are_of_another_scheme() -> None:
    old = SimpleNamespace(hashvalues=np.array([1, 2**32 - 1], np.uint64), seed=1, num_perm=2)
    made = nd.from_datasketch([old])
    assert made.values.dtype == np.uint32
    with pytest.raises(FormatError):
        made.resemblances([(0, 0)], nd.from_datasketch([stand_in([1, 2])]))
    wide = nd.from_datasketch([stand_in([1, 2**63], np.uint64, scheme="affine64")])
    assert wide.values.tolist() == [[1, 2**63]]


def test_objects_of_two_families() -> None:
    for other in (stand_in([1, 2, 3]), stand_in([1, 2], seed=2), stand_in([1, 2], np.uint64, scheme="affine64")):
        with pytest.raises(
            FormatError, match=r"MinHash 0 is .*num_perm 2, seed 1.*number 1 is datasketch minhash"
        ):
            nd.from_datasketch([stand_in([1, 2]), other])
    mine = nd.MinHash(2)
    with pytest.raises(FormatError, match=r"datasketch minhash .*other is minhash"):
        nd.from_datasketch([stand_in([1, 2])]).resemblances(
            [(0, 0)], nd.read_signatures(mine.to_arrow(["a"], mine.sketch(["a"])))
        )


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ("text", "Number 0 is a str and no MinHash of datasketch"),
        (SimpleNamespace(hashvalues=[1, 2], seed=1), "no MinHash of datasketch"),
        (SimpleNamespace(hashvalues=np.array([1.0]), seed=1), "no MinHash of datasketch"),
        (SimpleNamespace(hashvalues=np.zeros((2, 2), np.uint32), seed=1), "no MinHash of datasketch"),
        (SimpleNamespace(hashvalues=np.array([1], np.uint32)), "no MinHash of datasketch"),
        (stand_in([1, 2], num_perm=3), "says num_perm 3 and scheme affine32, and holds 2"),
        (stand_in([1, 2**40], np.uint64), "holds 2 values up to 1099511627776"),
    ],
)
def test_what_is_no_object_of_datasketch(one: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nd.from_datasketch([one])


def test_an_unknown_scheme_and_no_objects() -> None:
    assert len(nd.from_datasketch([])) == 0
    assert_refused(
        (FormatError, r"scheme of .*'new'", lambda: nd.from_datasketch([stand_in([1], scheme="new")])),
        (FormatError, "made by datasketch", lambda: nd.from_datasketch([]).family.of("text")),
    )


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
def test_the_real_package(scheme: str) -> None:
    datasketch = pytest.importorskip("datasketch")
    objects = []
    for first in (0, 50, 1000):
        made = datasketch.MinHash(64, seed=7, scheme=scheme)
        made.update_batch([str(number).encode() for number in range(first, first + 150)])
        objects.append(made)
    taken = nd.from_datasketch([*objects[:2], datasketch.LeanMinHash(objects[2])])
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert taken.resemblances(pairs).tolist() == [objects[a].jaccard(objects[b]) for a, b in pairs]
    assert taken.provenance.parameters["scheme"] == scheme


# One by one


def singles() -> dict[str, Any]:
    """Return the sketch of one text in every family."""
    made = {name: family.of("the moon is red tonight") for name, family in families().items()}
    return made | {"a sample of another length": nd.SampledShingles(2, 3, length=4).of("the moon is red tonight")}


@pytest.mark.parametrize("name", singles())
def test_single_sketches_of_two_families_are_refused_and_both_are_named(name: str) -> None:
    mine = singles()[name]
    for other_name, other in singles().items():
        if name == other_name:
            assert mine.resemblance(other).value == 1
            continue
        for use in (mine.resemblance, mine.__or__):
            with pytest.raises(FormatError) as caught:
                use(other)
            words = str(caught.value)
            kinds = [one.provenance.family.removeprefix("minhash") or "MinHash" for one in (mine, other)]
            assert kinds[0].lower() in words.lower()
            assert kinds[1].lower() in words.lower()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", singles())
def test_what_is_no_sketch_at_all_is_refused(name: str) -> None:
    for other in ("text", None, 3):
        with pytest.raises(InputError, match=r"other side .* (str|NoneType|int)"):
            singles()[name].resemblance(other)


def test_a_short_repr() -> None:
    family = nd.MinHash(64)
    stored = nd.read_signatures(family.to_arrow(["a", "b"], family.sketch(["one text", "another"])))
    assert repr(stored) == f"Signatures(2 documents, {family!r})"
