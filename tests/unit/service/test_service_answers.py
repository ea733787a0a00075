"""The descriptions of answers name what the records behind them have, and nothing else."""

from dataclasses import fields
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra service is not installed")

from neardup.collection.added import NearCopy
from neardup.collection.groups.records import Change, GroupPage, PairDecision, StoredGroup, StoredMember
from neardup.collection.why import Cause, WhyNot
from neardup.service import answers

DESCRIBED: dict[type, Any] = {
    StoredMember: answers.MemberBody,
    StoredGroup: answers.GroupAnswer,
    GroupPage: answers.GroupsAnswer,
    PairDecision: answers.DecisionBody,
    Change: answers.ChangeBody,
    NearCopy: answers.NearCopyBody,
    WhyNot: answers.WhyNotAnswer,
}


@pytest.mark.parametrize("record", DESCRIBED, ids=lambda record: record.__name__)
def test_an_answer_has_the_fields_of_its_record(record: Any) -> None:
    several = ("members", "groups", "causes")
    made = record(**{field.name: () if field.name in several else 1 for field in fields(record)})
    assert set(made.as_dict()) == set(DESCRIBED[record].model_fields)


def test_a_cause_has_its_fields() -> None:
    assert {field.name for field in fields(Cause)} == set(answers.CauseBody.model_fields)
