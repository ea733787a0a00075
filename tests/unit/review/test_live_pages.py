"""The live pages over HTTP: what each shows, changes, and refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.live_pages import Pages, live
from support.made_review import MadeReview

NOTICE = (
    "The harbour office is closed on Friday, because the pier is being repaired. Boats that come in must use the "
    "north quay 12, where the crane stands, and pay the fee at the gate."
)
LIBRARY = "The library opens at nine on weekdays and at ten on Saturdays; books can be returned through the hatch."
GROUPS = [
    {"notice": NOTICE, "notice-13": NOTICE.replace("12", "13"), "notice-mon": NOTICE.replace("Friday", "Monday")},
    {"library": LIBRARY, "library-10": LIBRARY + " Bring 10 books."},
]
NUMBERS = "/kinds?kind=numbers+only"


@pytest.fixture
def source() -> MadeReview:
    return MadeReview(GROUPS)


@pytest.fixture
def pages(source: MadeReview) -> Iterator[Pages]:
    with live(source) as made:
        yield made


EVERY = (
    "/",
    "/groups/0",
    "/pairs/1/0",
    "/pairs/1/0?view=list",
    "/queues/undecided",
    "/threshold",
    "/kinds",
    NUMBERS,
    "/history",
    "/export",
    "/keys",
)


@pytest.mark.parametrize("address", EVERY)
def test_every_page_has_one_heading_and_no_script_or_style_inside(pages: Pages, address: str) -> None:
    seen = pages.get(address)
    assert seen.status == 200
    assert seen.text.count("<h1") == 1
    assert "<style" not in seen.text
    assert " style=" not in seen.text
    assert seen.text.count("<script") == seen.text.count('<script type="module" src=') == 1
    assert len(seen.content) < 100_000


def test_a_decision_leads_to_the_next_pair_and_can_be_undone(pages: Pages, source: MadeReview) -> None:
    pair = pages.get("/pairs/1/0")
    decided = pages.submit(pair, "/decide", ("verdict", "duplicate"), note="seen twice")
    assert (decided.status, decided.to) == (303, "/pairs/2/0?done=1")
    following = pages.get(decided.to)
    assert "Done: duplicate for 1 pairs." in following.words
    assert source.state.verdicts == {(0, 1): ("duplicate", "seen twice")}
    undone = pages.submit(following, "/undo")
    assert undone.to == "/pairs/2/0?done=2"
    assert not source.state.verdicts
    assert source.actions[1].by == "Ann"
