"""The stages of a run in order, and which of them it has."""

from __future__ import annotations

from typing import Any

from neardup.join.search import ExactJoin
from neardup.run.pipeline import Condition, Meter, Pipeline, Stage
from neardup.run.stages import groups, result, search
from neardup.run.stages.account import Run
from neardup.run.stages.records import Inputs, LearnedSets, Purpose
from neardup.run.stages.result import Outcome
from neardup.settings import RECORDS, BaseTextSettings, GroupSettings, Keep, SearchSettings
from neardup.settings.rules import KEEP_NONE


def _ignore(inputs: Inputs) -> bool:
    return inputs.ignore is not None


def _ignore_common(base: BaseTextSettings) -> bool:
    return base.ignore_common > 0


def _passages(keep: Keep, purpose: Purpose) -> bool:
    return keep.keep != KEEP_NONE and purpose.action != "group"


def _drop(keep: Keep) -> bool:
    return keep.empty == "drop"


def _audit(search: SearchSettings) -> bool:
    return search.audit > 0


def _kinds(grouping: GroupSettings) -> bool:
    return grouping.kinds


IGNORE = Condition("--ignore", _ignore)
IGNORE_COMMON = Condition("--ignore-common", _ignore_common)
DROP = Condition("--empty drop", _drop)
PASSAGES = Condition("not with --keep none", _passages)
AUDIT = Condition("--audit", _audit)
KINDS = Condition("--kinds", _kinds)

STAGES = (
    Stage(search.bands),
    Stage(search.corpus),
    Stage(search.base_text, IGNORE),
    Stage(search.first_pass),
    Stage(search.common_text, IGNORE_COMMON),
    Stage(search.names),
    Stage(search.propose),
    Stage(groups.group_rules),
    Stage(groups.order),
    Stage(groups.copies),
    Stage(groups.resources),
    Stage(search.prove, holds=(LearnedSets,)),
    Stage(groups.group),
    Stage(groups.people_groups, groups.DECISIONS),
    Stage(groups.pairs_of_leaders),
    Stage(groups.leader_distances, holds=groups.HELD),
    *groups.FATES,
    Stage(groups.reported_pairs),
    Stage(groups.no_text, DROP),
    Stage(groups.counts, groups.COUNT),
    Stage(groups.no_removal, groups.GROUP),
    Stage(groups.lost_passages, PASSAGES, holds=groups.HELD),
    Stage(search.audit, AUDIT, holds=(ExactJoin,)),
    Stage(groups.audited_rows, AUDIT),
    Stage(search.missing),
    Stage(groups.member_table),
    Stage(result.people_reasons, groups.DECISIONS),
    Stage(result.row_tables),
    Stage(result.pair_form),
    Stage(result.pairs),
    Stage(result.kinds_of_copies, KINDS),
    Stage(result.missed_pairs, AUDIT),
    Stage(Run),
    Stage(result.result),
)


def given_to(inputs: Inputs, meter: Meter) -> list[Any]:
    """The records that a run begins with: the settings are taken apart here, and a stage reads its own records."""
    settings = (getattr(inputs.settings, record) for record in RECORDS)
    review = () if inputs.review is None else (inputs.review,)
    return [inputs, Purpose(inputs.action), meter, *settings, *review]


def run_stages(inputs: Inputs, meter: Meter, *, wanted: tuple[type, ...] = (Outcome,)) -> list[Any]:
    """Run the stages over these inputs."""
    given = given_to(inputs, meter)
    return Pipeline.of(STAGES, given, wanted).run(*given)
