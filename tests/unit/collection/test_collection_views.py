"""What a collection returns shows itself in a notebook: escaped, short, and without an error when it is closed."""

from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from support.plain_pages import Elements

HOSTILE = "<script>alert(1)</script>\u202e\x1b[2J <b>"
TEXT = f"please hand in your travel costs for march {HOSTILE} with all receipts by friday noon at the latest"


def views(folder: Path) -> dict[str, Any]:
    collection = nd.Collection(folder / "mail.neardup")
    documents = [{"id": HOSTILE, "text": TEXT, "from": HOSTILE}, {"id": "b", "text": f"{TEXT} today", "from": "b"}]
    documents += [
        {"id": f"c{number}", "text": f"number {number} of some others", "from": "c"} for number in range(30)
    ]
    collection.add(documents, metadata=["from"], near=0.5, on_near="link")
    page = collection.search("FINGERPRINT:b_50_95")
    shown = {
        "Collection": collection,
        "Document": collection.get(HOSTILE),
        "DocumentPage": collection.list(texts=True),
        "Page": page,
        "Hit": page.hits[0],
        "Near": collection.near(TEXT),
        "GroupPage": collection.groups(),
        "StoredGroup": collection.groups().groups[0],
        "Distinct": nd.distinct([TEXT, f"{TEXT} today", "another text about lunch at noon"], 0.7),
    }
    sources = {name: value._repr_html_() for name, value in shown.items()}
    texts = {name: repr(value) for name, value in shown.items()}
    collection.close()
    return {"sources": sources, "texts": texts, "closed": collection._repr_html_()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return views(tmp_path_factory.mktemp("views"))


def test_what_documents_hold_is_text(made: dict[str, Any]) -> None:
    for name, source in made["sources"].items():
        read = Elements(source)
        assert not {tag for tag, _ in read.elements} & {"script", "b", "img"}, name
        assert not set(source) & {"\u202e", "\x1b"}, name
        assert len(made["texts"][name]) < 300, name
        assert "\x1b" not in made["texts"][name], name


def test_the_views_have_the_numbers(made: dict[str, Any]) -> None:
    text = {name: Elements(source).text for name, source in made["sources"].items()}
    assert "mail.neardup" in text["Collection"]
    assert "32" in text["Collection"]
    assert "… and 12 more rows" in text["DocumentPage"]
    assert "1 of 1" in text["Page"]
    assert "FINGERPRINT:" in text["Page"]
    assert "travel costs" in text["Near"]
    assert "representative" in text["StoredGroup"]
    assert "dropped" in text["Distinct"]


def test_a_closed_collection_shows_that_it_is_closed(made: dict[str, Any]) -> None:
    assert "mail.neardup" in made["closed"]
    assert "documents" not in Elements(made["closed"]).text
