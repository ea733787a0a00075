"""Public records as plain data and in a notebook: one of each kind is made, of documents with hostile names."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.display.view import PlainData, Public, plain_data
from neardup.service.answers import ServiceComparison

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J & <b>"
TEXT = "please hand in your travel costs for march with all receipts by friday noon at the latest in the office"
TEXTS = {
    HOSTILE: TEXT,
    "b": f"{TEXT} today",
    "c": f"{HOSTILE} {TEXT} now",
    "d": f"{TEXT} today",
    "e": None,
    "f": "lunch",
}
BASES = {
    *("PlainData", "AdviceRecord", "ComparisonRecord", "ContaminationRecord", "ExplanationRecord", "ResultRecord"),
    *(
        "JoinSettings",
        "TextSettings",
        "WithLikeness",
        "OfFamily",
        "DocumentsById",
        "StoredDocuments",
        "Questions",
        "ShardView",
        "Store",
    ),
    *(
        "SqliteLookups",
        "PostgresStore",
        "Likeness",
        "ShingleFamily",
        "SlotFamily",
        "PlainSlotFamily",
        "Datasketch",
        "_Linear",
    ),
}
"""Classes of which calls return others that are derived from them, and families of foreign signatures."""


def runs(folder: Path) -> Iterator[Any]:
    """The results of calls that read documents."""
    found = nd.find(TEXTS, threshold=0.5, audit=2)
    yield from (found, found.why("b"), found.why("e"), found.look("c"), found.pair("b", HOSTILE), *found)
    yield from (found.show_pairs(), found.around("b"), found.compare("b", "c"), found.compare("b", "c").alignment)
    words = [f"w{number}" for number in range(50)]
    chained = {name: " ".join(words[k : k + 30]) for name, k in (("a", 0), ("b", 10), (HOSTILE, 20))}
    yield from nd.find(chained, threshold=0.4, keep="first").outside("a")
    yield from (found.compare("b", "c").alignment.matches, found.compare("b", "c").alignment.rows[:3])
    written = folder / f"{HOSTILE[:8]}.txt"
    written.write_text(TEXT)
    yield nd.fingerprint_part([written], folder / "part")
    yield nd.top_pairs(TEXTS)
    yield nd.advise({f"{HOSTILE}{number}": f"{TEXT} {number}" for number in range(30)})
    yield nd.passages([f"{TEXT} {TEXT} {TEXT}"] * 2)
    (folder / "items.jsonl").write_text(json.dumps({"id": HOSTILE, "text": TEXT}))
    yield nd.decontaminate(TEXTS, against=folder / "items.jsonl")
    documents = {name: text or "" for name, text in TEXTS.items()}
    yield from (
        nd.explain(list(documents.values())[:3], band_rows=2),
        nd.similarities(pa.array(documents.values())),
    )
    yield nd.distinct(list(documents.values()), 0.5)


def sketches() -> Iterator[Any]:
    """Signatures, plans and the rules of calls."""
    family, samples = nd.MinHash(64), nd.SampledShingles(4)
    yield from (family.of(TEXT), family.of(TEXT).resemblance(family.of(HOSTILE)), family.provenance())
    yield from (samples.of(TEXT), samples.sketch([TEXT, HOSTILE]))
    index = nd.Index(0.5)
    index.add(HOSTILE, TEXT)
    yield from index.query(f"{TEXT} today")
    yield nd.read_signatures(family.to_arrow([HOSTILE], family.sketch([TEXT])))
    yield from (nd.plan(0.7), nd.hamming_pairs([0b1, 0b11, 0b1]), nd.hamming_plan(1000), nd.Near(0.8))
    yield from (nd.BBit(family), nd.BottomK(), nd.BucketMinHash(), nd.ModP(), nd.MultiplyShift(), nd.SimHash())
    yield from (nd.WeightedMinHash(8), family.of(TEXT).size)
    yield from (
        nd.ModP(8).of(TEXT),
        nd.Settings.of(),
        index,
        family,
        nd.LSH(family.sketch([TEXT]), rows=4),
        nd.HammingIndex(),
    )


def collections(folder: Path) -> Iterator[Any]:
    """What a collection, several, and the client of one say."""
    with nd.Collection(folder / "c.neardup") as mails:
        yield mails.add(TEXTS, near=0.5, on_near="link")
        yield from (mails, mails.settings, mails["c"], mails.list(), mails.groups(), mails.changes())
        yield from (
            mails.search("FINGERPRINT:b_20"),
            mails.search("lunch", fields="excerpt"),
            mails.why_not("lunch", "b"),
        )
        yield mails.passages("b", length=5)
        yield mails.decide("b", "c", "duplicate", by=HOSTILE)
        (folder / "decided.csv").write_text("id,other,decision,note\nb,d,duplicate,\n")
        yield from (mails.actions(), mails.import_decisions(folder / "decided.csv", "csv", by="ann"))
        mails.add({"g": f"{TEXT} again"})
        yield mails.group_pending(0.5)
        with mails.view() as view:
            yield from (view, mails.store)
    with nd.Collections.create([folder / "0.neardup", folder / "1.neardup"]) as shards:
        yield shards
    yield ServiceComparison(HOSTILE, "b", {}, {"resemblance": 0.5}, {}, None, False, (), True)
    yield from (nd.Client("http://127.0.0.1:1"), nd.AsyncClient("http://127.0.0.1:1"))


def parts(value: Any) -> Iterator[Any]:
    """The values that a value is made of: fields of a record, items, values by name."""
    if isinstance(value, PlainData):
        yield from (getattr(value, name) for name in value.__dataclass_fields__ if not name.startswith("_"))
    elif isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()


def reached(value: Any, seen: dict[str, Any]) -> None:
    """Look at the value, if it is the first public object of its class, and at its parts."""
    if isinstance(value, Public) and (name := type(value).__name__) not in seen:
        as_dict = value.as_dict() if isinstance(value, PlainData) else {}
        seen[name] = repr(value), value._repr_html_(), as_dict
    for part in parts(value):
        reached(part, seen)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """The text, the view and the plain data of a public object of each class, by the name of the class."""
    folder = tmp_path_factory.mktemp("records")
    seen: dict[str, Any] = {}
    for value in chain(runs(folder), sketches(), collections(folder)):  # while its collection is open
        reached(value, seen)
    return seen


def kinds(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield from (kind, *kinds(kind))


def test_one_of_each_kind_is_looked_at(public: dict[str, Any]) -> None:
    names = {kind.__name__ for kind in kinds(Public) if kind.__module__.startswith("neardup.")}
    assert {name for name in names - public.keys() if not name.startswith("_")} <= BASES


def test_plain_data_is_what_json_takes_and_nothing_else(public: dict[str, Any]) -> None:
    for name, (_, _, data) in public.items():
        assert json.loads(json.dumps(data)) == data, name
    assert public["Signature"][2].keys() == {"provenance", "values"}
    assert public["Found"][2]["run"]["counts"]["read"] == len(TEXTS)
    assert public["Group"][2]["members"][0]["id"] == public["Group"][2]["id"]
    assert "_codepoints" not in public["Units"][2]


def test_views_show_what_documents_hold_as_text(public: dict[str, Any]) -> None:
    for name, (_, view, _) in public.items():
        tags = re.findall(r"<(\w+)", view)
        assert not {"script", "img", "iframe", "object", "form", "link"} & set(tags), name
        assert not re.search("[\x00\x1b\u202e\ud800]", view), name
        assert len(view) < 64_000, name
    assert "&lt;script&gt;" in public["Outside"][1]
    assert "shared" in public["Shared"][1]


def test_texts_of_public_objects_have_no_address_and_no_control(public: dict[str, Any]) -> None:
    for name, (text, _, _) in public.items():
        assert " object at 0x" not in text, name
        assert not re.search("[\x1b\u202e]", text), name


def test_sets_and_paths_are_plain_data() -> None:
    assert plain_data({"of": frozenset("ba"), "in": Path("a"), "n": pa.array([1])}) == {
        "of": ["a", "b"],
        "in": "a",
        "n": [1],
    }
