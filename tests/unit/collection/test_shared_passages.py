"""Which stretches of a document are in others, too: every window of tokens that another has, and no other."""

import random
from pathlib import Path

import pytest

from neardup import Collection
from neardup.collection import passages
from neardup.collection.view import View
from neardup.errors import LimitError, SettingError, UnknownIdError

WORDS = [f"word{number}" for number in range(400)]


def made_texts(seed: int) -> dict[str, list[str]]:
    """Documents of words that quote each other, some of them twice; two are shorter than a passage."""
    draw, texts = random.Random(seed), {"short": WORDS[:7], "same": WORDS[:7]}
    for number in range(30):
        words = draw.choices(WORDS, k=draw.choice((20, 60, 200)))
        for _ in range(draw.randrange(3)):
            source = draw.choice([*texts.values()])
            begin = draw.randrange(len(source))
            place = draw.randrange(len(words))
            words[place:place] = source[begin : begin + draw.choice((5, 9, 10, 11, 40))]
        texts[f"d{number}"] = words
    return texts


def windows(words: list[str], length: int) -> dict[tuple[str, ...], None]:
    return dict.fromkeys(tuple(words[k : k + length]) for k in range(len(words) - length + 1))


@pytest.mark.parametrize(("seed", "length", "scale"), [(1, 10, 1), (2, 5, 1), (3, 30, 1), (1, 10, 8), (4, 6, 32)])
def test_every_shared_window_is_found_and_each_passage_is_in_both(
    tmp_path: Path, seed: int, length: int, scale: int
) -> None:
    texts = made_texts(seed)
    joined = {id: " ".join(words) for id, words in texts.items()}
    shared = 0
    with Collection(tmp_path / "made.neardup", scale=scale) as collection:
        collection.add([{"id": id, "text": text} for id, text in joined.items()])
        for id, words in texts.items():
            found = collection.passages(id, length=length)
            elsewhere = {window for other, own in texts.items() if other != id for window in windows(own, length)}
            covered = set[int]()
            for k in range(len(words) - length + 1):
                if tuple(words[k : k + length]) in elsewhere:
                    covered.update(range(k, k + length))
            assert (found.shared, found.tokens) == (len(covered), len(words))
            assert (found.recall, found.uncompared) == (1.0, 0)
            for one in found.passages:
                quoted = joined[id][one.begin : one.end]
                assert quoted == joined[one.id][one.begin_other : one.end_other]
                assert quoted.startswith(one.text)
                assert len(quoted.split()) == one.tokens >= length
            holders = {
                other for other, own in texts.items() if set(windows(own, length)) & set(windows(words, length))
            }
            assert {one.id for one in found.passages} == holders - {id}
            shared += found.shared
    assert shared


def test_a_long_document_has_the_promise_of_the_sample(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    with Collection(tmp_path / "made.neardup", scale=32) as collection:
        collection.add([{"id": f"d{number}", "text": text} for number in range(2)])
        shared = collection.passages("d0", length=6)
        assert (shared.recall, shared.shared) == (1 - (31 / 32) ** 2, 3000)


def test_a_word_that_is_repeated_is_one_look_up(tmp_path: Path) -> None:
    for number in range(3):  # of these shingles some are not in the sample
        with Collection(tmp_path / f"{number}.neardup", scale=64) as collection:
            collection.add([{"id": id, "text": f"word{number} " * 60_000} for id in ("a", "b")])
            shared = collection.passages("a")
            assert (shared.shared, shared.recall) == (60_000, 1.0)


def test_a_limit_leaves_documents_uncompared_and_promises_nothing(tmp_path: Path) -> None:
    text = " ".join(WORDS[:80])
    with Collection(tmp_path / "made.neardup", scale=2) as collection:
        collection.add([{"id": f"d{number}", "text": f"{text} own{number}"} for number in range(5)])
        whole, part = collection.passages("d0"), collection.passages("d0", most=2)
        assert (len(whole.passages), whole.compared, whole.uncompared) == (4, 4, 0)
        assert whole.recall == 1
        assert (len(part.passages), part.compared, part.uncompared, part.recall) == (2, 2, 2, 0.0)
        assert "80 tokens" in str(whole)
        for given in ({"length": 4}, {"length": True}, {"most": 0}):
            with pytest.raises(SettingError):
                collection.passages("d0", **given)
        with pytest.raises(UnknownIdError):
            collection.passages("nothing")


def test_the_first_passages_and_the_number_of_the_others(tmp_path: Path) -> None:
    with Collection(tmp_path / "made.neardup", scale=1) as collection:
        collection.add([{"id": id, "text": " ".join(WORDS[:20])} for id in "abcd"])
        whole = collection.passages("a", length=10)
    part = whole.first(2)
    assert (part.passages, part.omitted) == (whole.passages[:2], 1)
    assert "1 more passages" not in str(whole)
    assert "1 more passage" in str(part)
    assert whole.first(3) == whole


class RecordedView(View):
    """A view that counts the texts that are read together."""

    read: tuple[int, ...] = ()

    def contents(self, documents: list[int]) -> list[str]:
        self.read += (len(documents),)
        return super().contents(documents)


def test_passages_are_found_within_the_time_and_long_texts_read_one_at_a_time(tmp_path: Path) -> None:
    long = " ".join([*WORDS[:20], *map(str, range(150_000))])
    with Collection(tmp_path / "made.neardup") as collection:
        collection.add([{"id": "a", "text": " ".join(WORDS[:20])}, *({"id": id, "text": long} for id in "bcd")])
        with collection.view():
            view = RecordedView(collection.store)
            assert len(passages.shared_passages(view, "a", 10).passages) == 3
        with collection.view(-1) as late, pytest.raises(LimitError):
            passages.shared_passages(late, "a", 10)
    assert view.read == (1, 1, 1, 1)
