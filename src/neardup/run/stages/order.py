"""The stages of a run in order, and which of them it has."""

from __future__ import annotations

from typing import Any

from neardup.join.search import ExactJoin, HeldSets
from neardup.run.pipeline import Condition, Meter, Pipeline, Stage
from neardup.run.stages import groups, result, search
from neardup.run.stages.account import Run
from neardup.run.stages.records import Inputs, LearnedSets
from neardup.run.stages.result import Outcome
from neardup.settings import RECORDS
from neardup.settings.rules import KEEP_NONE


def _none(inputs: Inputs) -> bool:
    return inputs.settings.keep.keep == KEEP_NONE


def _review(inputs: Inputs) -> bool:
    return inputs.review is not None


def _group(inputs: Inputs) -> bool:
    return inputs.action == "group"


IGNORE = Condition("--ignore", lambda inputs: inputs.ignore is not None)
IGNORE_COMMON = Condition("--ignore-common", lambda inputs: inputs.settings.base.ignore_common > 0)
DECISIONS = Condition("--decisions", _review)
NONE = Condition("--keep none", _none)
NOT_NONE = Condition("not with --keep none", lambda inputs: not _none(inputs))
NONE_DECIDED = Condition("--keep none --decisions", lambda inputs: _none(inputs) and _review(inputs))
DECIDED = Condition("--decisions, not with --keep none", lambda inputs: _review(inputs) and not _none(inputs))
COUNT = Condition("--count", lambda inputs: inputs.settings.keep.count)
GROUP = Condition("neardup group", _group)
PASSAGES = Condition("not with --keep none", lambda inputs: not _none(inputs) and not _group(inputs))
AUDIT = Condition("--audit", lambda inputs: inputs.settings.search.audit > 0)
KINDS = Condition("--kinds", lambda inputs: inputs.settings.grouping.kinds)

HELD = (ExactJoin, HeldSets)
"""Sets of documents in memory, which the stages find by the store of the rows."""

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
    Stage(search.prove, holds=(LearnedSets,)),
    Stage(groups.group),
    Stage(groups.people_groups, DECISIONS),
    Stage(groups.leader_distances, holds=HELD),
    Stage(groups.fates),
    Stage(groups.people_fates, DECISIONS),
    Stage(groups.stand),
    Stage(groups.whole_families, NONE),
    Stage(groups.people_exceptions, NONE_DECIDED),
    Stage(groups.lost_text, NOT_NONE, holds=HELD),
    Stage(groups.people_last_word, DECIDED, holds=HELD),
    Stage(groups.reported_pairs),
    Stage(groups.counts, COUNT),
    Stage(groups.no_removal, GROUP),
    Stage(groups.lost_passages, PASSAGES, holds=HELD),
    Stage(search.audit, AUDIT, holds=(ExactJoin,)),
    Stage(groups.audited_rows, AUDIT),
    Stage(search.missing),
    Stage(result.member_table),
    Stage(result.people_reasons, DECISIONS),
    Stage(result.row_tables),
    Stage(result.pair_form),
    Stage(result.pairs),
    Stage(result.kinds_of_copies, KINDS),
    Stage(result.missed_pairs, AUDIT),
    Stage(Run),
    Stage(result.result),
)


def pipeline_of(inputs: Inputs, *, wanted: tuple[type, ...] = (Outcome,)) -> Pipeline:
    """The stages of a run over these inputs."""
    stages = [stage for stage in STAGES if stage.when.holds(inputs)]
    return Pipeline(stages, given=(Inputs, Meter, *RECORDS.values()), wanted=wanted)


def run_stages(inputs: Inputs, meter: Meter, *, wanted: tuple[type, ...] = (Outcome,)) -> list[Any]:
    """Run the stages over these inputs; the settings are taken apart here, and a stage reads its own records."""
    records = (getattr(inputs.settings, record) for record in RECORDS)
    return pipeline_of(inputs, wanted=wanted).run(inputs, meter, *records)
