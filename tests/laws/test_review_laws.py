"""The review of a result: filters, pages and counts of decisions are those of a naive recount."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neardup.collection.query import canonical
from neardup.collection.query.syntax import And, FieldClause, Node, Not, Or, WordsClause
from neardup.errors import InputError
from neardup.review.desk.desk import Desk
from neardup.review.desk.subjects import ResultSubject
from neardup.review.source import ORDERS, Decide, GroupLine, Order, Question
from support.made_reviews import make_result
from support.reference_review import Group, holds, reviewed

GROUPS = 25
VERDICTS = ("duplicate", "keep both", "not alike", "unsure")
TAGS = ("hot", "cold")
WORDS = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}x" for n in range(200)]


def made_texts() -> dict[str, str]:
    draw = random.Random(14)
    texts = {}
    for group in range(GROUPS):
        words = draw.choices(WORDS, k=40)
        words[draw.randrange(40)] = str(draw.randrange(100))
        for member in range(draw.randint(2, 6)):
            changed = list(words)
            how = draw.choice(("copy", "number", "more", "other")) if member else "copy"
            if how == "number":
                changed = [str(draw.randrange(100)) if word.isdigit() else word for word in words]
            elif how == "more":
                changed += draw.choices(WORDS, k=draw.randint(1, 9))
            elif how == "other":
                changed[draw.randrange(40)] = draw.choice(WORDS)
            texts[f"g{group}-{member}"] = " ".join(changed)
    return texts


TEXTS = made_texts()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk.open(make_result(tmp_path_factory.mktemp("laws"), TEXTS, threshold=0.5, length=3))
    rows = desk._index.documents.rows
    draw = random.Random(3)
    for _ in range(60):
        member = draw.choice(sorted(TEXTS))
        number = desk._index.documents.number(member)
        if number is None or desk._index.group_of[number] < 0:
            continue
        key, head = int(rows[number]), int(desk._made.heads[desk._index.group_of[number]])
        seen = desk.history()[0].number if desk.history() else 0
        if draw.random() < 0.5 and number != head:
            verdict = draw.choice(VERDICTS)
            desk.decide(Decide("pair", verdict, "ann", seen, pair=(key, int(rows[head]))))  # type: ignore[arg-type]
        elif draw.random() < 0.5:
            desk.tag(key, draw.choice(TAGS), True, "ann", seen)
        elif draw.random() < 0.5:
            desk.keep(key, draw.choice(("keep", "remove")), "ben", seen)  # type: ignore[arg-type]
        else:
            group = desk._index.key(int(desk._index.group_of[number]))
            desk.represent(group, key, "ben", seen)
    yield desk
    desk.close()


def naive(desk: Desk) -> list[Group]:
    return reviewed(desk._subject.found, TEXTS, desk._subject.state())


OPERATORS = st.sampled_from((":", "=", "!=", "<", "<=", ">", ">="))
NAMES = st.sampled_from((":", "=", "!="))
CLAUSES: st.SearchStrategy[Node] = st.one_of(
    st.builds(FieldClause, st.sampled_from(("size", "copies")), OPERATORS, st.integers(0, 6).map(str)),
    st.builds(FieldClause, st.just("similarity"), OPERATORS, st.sampled_from((".5", ".75", "0.9", "1", "9e-1"))),
    st.builds(FieldClause, st.sampled_from(("stake", "lost")), OPERATORS, st.integers(0, 80).map(str)),
    st.builds(FieldClause, st.just("decided"), NAMES, st.sampled_from(("yes", "no", "partly"))),
    st.builds(FieldClause, st.just("verdict"), NAMES, st.sampled_from(VERDICTS)),
    st.builds(FieldClause, st.just("kind"), NAMES, st.sampled_from(("numbers", "contained", "wording", "moved"))),
    st.builds(FieldClause, st.just("tag"), NAMES, st.sampled_from((*TAGS, "warm"))),
    st.builds(FieldClause, st.just("fate"), NAMES, st.sampled_from(("keep", "remove"))),
    st.builds(FieldClause, st.just("id"), NAMES, st.sampled_from(sorted(TEXTS))),
    st.builds(WordsClause, st.sampled_from(WORDS)),
    st.integers(0, 38).map(lambda n: WordsClause(" ".join(TEXTS["g0-0"].split()[n : n + 2]))),
)
FILTERS = st.recursive(
    CLAUSES,
    lambda node: st.one_of(
        st.builds(Not, node),
        st.builds(lambda parts: And(tuple(parts)), st.lists(node, min_size=2, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(node, min_size=2, max_size=3)),
    ),
    max_leaves=6,
)
QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def listed(desk: Desk, filter: str, order: Order, limit: int) -> Iterator[GroupLine]:
    after = ""
    while True:
        page = desk.groups(Question(filter, order, after, limit))
        yield from page.lines
        after = page.next
        if not after:
            return


@QUICK
@given(node=FILTERS)
def test_a_filter_finds_the_groups_for_which_it_holds(desk: Desk, node: Node) -> None:
    page = desk.groups(Question(canonical(node), "place", limit=GROUPS))
    assert page.meaning == canonical(node)
    assert [line.id for line in page.lines] == [group["ids"][0] for group in naive(desk) if holds(node, group)]
    assert page.found == len(page.lines)


@QUICK
@given(node=CLAUSES, order=st.sampled_from(ORDERS), limit=st.integers(1, GROUPS + 1))
def test_pages_of_any_length_show_every_group_once(desk: Desk, node: Node, order: Order, limit: int) -> None:
    shown = [line.id for line in listed(desk, canonical(node), order, limit)]
    assert len(set(shown)) == len(shown)
    assert set(shown) == {group["ids"][0] for group in naive(desk) if holds(node, group)}


def test_orders_are_those_of_the_values(desk: Desk) -> None:
    groups = {group["ids"][0]: (place, group) for place, group in enumerate(naive(desk))}
    keys = {
        "undecided": lambda place, group: (group["count"] == group["near"], -group["stake"], place),
        "stake": lambda place, group: (-group["stake"], place),
        "size": lambda place, group: (-group["size"], place),
        "similarity": lambda place, group: (group["similarity"], place),
        "place": lambda place, group: place,
    }
    for order in ORDERS:
        expected = sorted(groups, key=lambda id, order=order: keys[order](*groups[id]))  # type: ignore[misc]
        assert [line.id for line in listed(desk, "", order, 7)] == expected


def test_counts_of_decisions_are_those_of_a_recount(desk: Desk) -> None:
    lines = {line.id: (line.decided, line.pairs) for line in listed(desk, "", "place", 50)}
    assert lines == {group["ids"][0]: (group["count"], group["near"]) for group in naive(desk)}
    assert sum(count for count, _ in lines.values()) > 5
    again = Desk(ResultSubject(desk._subject.found, desk._subject._path.parent))
    assert {line.id: (line.decided, line.pairs) for line in listed(again, "", "place", 50)} == lines
    assert (again._made.verdict == desk._made.verdict).all()
    again.close()


@settings(QUICK, max_examples=30)
@given(data=st.data())
def test_a_decision_and_its_undo_leave_everything_as_it_was(desk: Desk, data: st.DataObject) -> None:
    desk.groups(Question())
    before = (
        naive(desk),
        desk._made.verdict.copy(),
        desk._made.count.copy(),
        list(listed(desk, "", "undecided", 50)),
    )
    group = int(data.draw(st.integers(0, len(desk._index) - 1)))
    asked = data.draw(st.sampled_from(("pair", "group", "above", "kind")))
    members = desk._index.members[desk._index.slice(group)]
    member = int(data.draw(st.sampled_from(members.tolist())))
    rows = desk._index.documents.rows
    decision = Decide(
        asked,
        data.draw(st.sampled_from((*VERDICTS, None))),
        "eve",
        desk.history()[0].number,
        group=desk._index.key(group),
        pair=(int(rows[member]), int(rows[desk._made.heads[group]])),
        above=data.draw(st.sampled_from((0.0, 0.6, 0.9))),
        kind=data.draw(st.sampled_from(("numbers", "contained", "wording"))),
        filter=data.draw(st.sampled_from(("", "size>2"))),
    )
    try:
        done = desk.decide(decision)
    except InputError:  # nothing to decide, or a document with itself
        return
    changed = naive(desk)
    assert done.action.by == "eve"
    assert sum(group["count"] for group in changed) == desk._made.count.sum()
    desk.undo("eve", done.action.number)
    desk.groups(Question())
    after = naive(desk), desk._made.verdict, desk._made.count, list(listed(desk, "", "undecided", 50))
    assert after[0] == before[0]
    assert (after[1] == before[1]).all()
    assert (after[2] == before[2]).all()
    assert [line.id for line in after[3]] == [line.id for line in before[3]]
