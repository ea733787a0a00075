"""Metadata, texts and excerpts of hits: those of the documents, in one request, and in pages of a bounded size."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup import Collection, SettingError

LONG = "a line of no matter\n" * 12_000
TEXTS = {
    "first": "The harbour office is closed on Friday.",
    "far": f"{LONG} the Harbour-Office of the north {LONG}",
    "split": "the harbour, and later the office of the harbour",
    "accents": "Größe und Maß des HARBOUR office",
}


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection(tmp_path_factory.mktemp("fields") / "mail.neardup") as made:
        made.add([{"id": id, "text": text, "metadata": {"n": len(id)}} for id, text in TEXTS.items()])
        yield made


def test_fields_are_those_of_the_documents(mails: Collection) -> None:
    hits = mails.search("n>=1", fields="metadata,text").hits
    assert {hit.id: (hit.text, hit.metadata, hit.excerpt) for hit in hits} == {
        id: (mails[id].text, mails[id].metadata, None) for id in TEXTS
    }


def test_without_fields_a_hit_has_none(mails: Collection) -> None:
    assert [hit.as_dict() for hit in mails.search('"harbour office" AND n>=6').hits] == [{"id": "accents"}]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("harbour", {"harbour"}),
        ('"harbour office"', {"harbour office"}),
        ("harbour AND (office OR nothing)", {"harbour", "office"}),
        ("n>=1 AND NOT closed", set()),
    ],
)
def test_an_excerpt_is_a_part_of_the_text_and_marks_the_words(
    mails: Collection, query: str, words: set[str]
) -> None:
    for hit in mails.search(query, fields=["excerpt"]).hits:
        excerpt = hit.excerpt
        assert excerpt is not None
        assert mails[hit.id].text[excerpt.begin :].startswith(excerpt.text)
        assert 0 < len(excerpt.text) <= 240
        assert {excerpt.text[begin:end].lower().replace("-", " ") for begin, end in excerpt.marks} == words


def test_the_excerpt_of_a_passage_shows_it(mails: Collection) -> None:
    [hit] = mails.search('TEXT:"she says the harbour office is closed on friday"_50', fields="excerpt").hits
    assert hit.evidence is not None
    assert hit.evidence.passage is not None
    assert hit.excerpt is not None
    assert [hit.excerpt.text[slice(*mark)] for mark in hit.excerpt.marks] == [hit.evidence.passage.text]


def test_a_page_of_texts_ends_and_the_next_goes_on(tmp_path: Path) -> None:
    line = "a line of no matter\n"
    texts = {
        f"d{k}": line * (n // len(line)) for k, n in enumerate([6_000_000, 9_000_000, 2_000_000, 17_000_000, 5])
    }
    with Collection(tmp_path / "long.neardup") as long:
        long.add([{"id": id, "text": text or line} for id, text in texts.items()])
        shown, after = [], None
        while True:
            page = long.search("line", fields="text", limit=4, after=after)
            shown.append([hit.id for hit in page.hits])
            after = page.next
            if after is None:
                break
    assert shown == [["d0", "d1", "d2"], ["d3"], ["d4"]]


def test_an_unknown_field_is_refused(mails: Collection) -> None:
    with pytest.raises(SettingError) as caught:
        mails.search("harbour", fields="metadata,body")
    assert "'body'" in caught.value.given
    with pytest.raises(SettingError):
        mails.near("the harbour office", fields=["texts"])
