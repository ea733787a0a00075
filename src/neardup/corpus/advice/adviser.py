"""The adviser: one exact join of a sample far below the threshold, and the similarities of all pairs of a part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from neardup.corpus.advice import effects
from neardup.corpus.advice.gap import groups_at
from neardup.corpus.advice.outlook import LESS_COMMON, LESS_RARE, TEMPLATED, Outlook, Viewed, look
from neardup.corpus.advice.recommend import around, chosen_settings, recommend
from neardup.corpus.advice.record import AdviceRecord, Around, Seen, Taken
from neardup.corpus.advice.sample import KINDS, SampledTexts, base_of, counts_of, take, to_look_at, unit_counts
from neardup.corpus.advice.templates import Templates, common_shares, find_templates
from neardup.corpus.advice.views import html, lines, svg
from neardup.deduplication.join.base_documents import BaseDocuments, open_base
from neardup.deduplication.results import Found
from neardup.deduplication.runs import check_columns
from neardup.errors import InputError, SettingError
from neardup.io.inputs import Chosen, Documents, choose_columns, open_documents
from neardup.runtime import Progress, Silent
from neardup.settings import SELECTION, ReadingSettings, SettingKeywords, Settings, Shingles, names_of
from neardup.tables import Bools
from neardup.text.lsh.bands import plan

NOT_TOLD = (*names_of(ReadingSettings), "threads")
ADVISED = ("threshold", "recall", "slots", "sketch", "unit", "length", "groups", *SELECTION, *NOT_TOLD)
"""The settings that ``advise`` accepts."""

LEAST_THRESHOLD = 0.1


class Advice(AdviceRecord):
    """The result of :func:`advise`: a record that prints as text and renders in a notebook."""

    def svg(self) -> str:
        """Return an SVG image: pairs by resemblance, and documents removed by threshold."""
        return svg(self)

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        return html(self)


def advise(
    documents: object,
    *,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    ignore: object | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingKeywords],
) -> Advice:
    """Read a sample of the documents and report the effect of the settings on them.

    ``documents``, ``text``, ``id`` and ``ignore`` are those of :func:`neardup.find`; ``settings`` are threshold,
    recall, slots, sketch, unit, length, groups, tokenizer, mask, ignore_numbers, stop_words, ignore_common,
    within, across, keep, lose, count, sources, encoding, delimiter, pages and threads. Masked places, numbers and
    stop words are left out of the sample first: documents that are equal then count as exact copies. The
    recommended command repeats the settings that it does not choose itself.

    Reads at most the first 100,000 documents or 200 MB (40 MB for character shingles), and reports if it stopped
    there. Pairs are joined exactly down to resemblance .3. All pairs of up to 2,000 documents are counted by
    several kinds of shingles, to find the gap between relatives and strangers, which the recommended command
    uses.

    Raises SettingError for settings out of range, and InputError for documents that cannot be used.

    >>> text = "please hand in your travel costs for march with all receipts by friday noon at the latest"
    >>> advice = advise([text, text.replace("friday", "monday"), "lunch"], threshold=0.7, length=3)
    >>> [(step.threshold, step.pairs, step.removed) for step in advice.thresholds][3:5]
    [(0.65, 1, 1), (0.7, 0, 0)]
    >>> advice.recommended.effect.removed
    1
    """
    chosen = checked(settings)
    opened = open_documents(documents, reading=chosen.reading)
    words = [str(documents)] if isinstance(documents, str | Path) else ["IN"]
    columns = choose_columns(opened, text, id)
    base = open_base(ignore, columns, chosen.reading)
    names = [] if base is None else [ignore] if isinstance(ignore, str | Path) else list(ignore)  # type: ignore[call-overload]
    words += [part for name in names for part in ("--ignore", str(name))]
    return advise_on(opened, columns, chosen, words, progress or Silent(), base)


def checked(values: Mapping[str, Any]) -> Settings:
    """Return the settings to advise on. Raises SettingError for names outside ADVISED and for impossible plans."""
    strange = [name for name in values if name not in ADVISED]
    if strange:
        raise SettingError(
            f"Advice cannot be asked for with {', '.join(strange)}",
            f"The settings {', '.join(ADVISED)}",
            "Leave it out: the sample is always joined exactly, by resemblance, and nothing is written",
        )
    settings = Settings.of(**values)
    if settings.by_simhash:
        raise SettingError(
            "sketch is 'simhash'",
            "Advice on MinHash and the exact join",
            "See hamming_plan() or neardup plan --sketch simhash for the pairs of a distance",
        )
    threshold = settings.search.threshold
    if threshold < LEAST_THRESHOLD:
        raise SettingError(
            f"No advice is given for threshold {threshold:g}",
            f"A threshold from {LEAST_THRESHOLD:g} to 1",
            "Choose a higher threshold: below that nearly all documents are pairs",
        )
    plan(threshold, settings.search.recall, settings.sketch.slots)
    return settings


def advise_on(
    documents: Documents,
    columns: Chosen,
    settings: Settings,
    words: Sequence[str],
    progress: Progress,
    ignore: BaseDocuments | None = None,
) -> Advice:
    """Return advice on opened documents.

    ``words`` name them, and the boilerplate to ``ignore``, on the recommended command line. Raises InputError if a
    column that the settings name is missing or of the wrong type.
    """
    check_columns(documents, settings.keep, settings.relations)
    sample = take(documents, columns, settings, ignore, progress)
    if not len(sample.texts):
        way = _first_problem(sample) or "Check that this is the right file"
        raise InputError("The documents hold no row that can be read", "At least one document", way)
    given, (sample, settings) = settings, sample.counted(settings)
    threshold, low = settings.search.threshold, effects.lowest(settings.search.threshold)
    with progress.stage("pairs", None, "documents"):
        result = effects.all_pairs(sample, low, settings)
    tried = sorted({*effects.STEPS, threshold})
    with progress.stage("thresholds", len(tried), "thresholds") as advance:
        results = {}
        for value in tried:
            results[value] = effects.at(result, value, sample, settings)
            advance(1)
    full = unit_counts(sample.texts, settings.shingles) > 0
    seen, choice, line = _looked(sample, full, result, settings, progress)
    settled = effects.effect(sample, settings, chosen_settings(choice, settings.keep))
    return Advice(
        settings={name: given.as_dict()[name] for name in ADVISED if name not in NOT_TOLD},
        sample=_taken(sample, result),
        recommended=recommend(choice, sample.complete, given, words, settled),
        seen=seen,
        around=line,
        thresholds=tuple(reversed([*effects.steps(result, results)])),
    )


def _looked(
    sample: SampledTexts, full: Bools, result: Found, settings: Settings, progress: Progress
) -> tuple[Seen, Outlook, Around]:
    """Look at all pairs of some documents by several kinds of shingles, and choose the best separation.

    In doubt, and if there are templates, also without the text that is in more than some shares of the documents.
    """
    numbers = to_look_at(sample, full, result)
    taken, related = sample.texts.take(pa.array(numbers)), sample.related(settings.relations).of(numbers)
    units = {unit: unit_counts(taken, Shingles(unit=unit)) for unit in ("word", "char")}
    views: list[Viewed] = []

    def view(share: float, handicap: float = 0.0) -> Templates:
        wanted = replace(settings, base=replace(settings.base, ignore_common=share))
        bases = [base_of(sample, kind.settings(wanted)) for kind in KINDS]
        with progress.stage("looks", len(KINDS), "kinds of shingles") as advance:
            counts = []
            for kind, base in zip(KINDS, bases, strict=True):
                counts.append(counts_of(taken, kind, wanted, base, related))
                advance(1)
        templates = find_templates(taken, wanted, bases[0], related)
        views.append(Viewed(counts, templates.false, share, handicap))
        return templates

    templates = view(settings.base.ignore_common)
    chosen = look(views, units)
    if (chosen.doubt or templates.sizes) and not len(sample.base) and not settings.base.ignore_common:
        rare = LESS_RARE * (chosen.templated < TEMPLATED * len(numbers))
        for k, share in enumerate(common_shares(templates, groups_at(chosen.tree, chosen.threshold)), 1):
            view(share, LESS_COMMON * k + rare)
        chosen = look(views, units)
    seen = Seen(
        documents=len(numbers),
        bytes=int(sample.sizes[numbers].sum()),
        outcome="template" if chosen.ignore_common and chosen.gap is None else chosen.outcome,
        sure=not chosen.doubt,
        doubt=chosen.doubt,
        templated=chosen.templated,
        looks=chosen.looks,
    )
    texts = [text.decode("utf-8", "replace") for text in taken.to_pylist()]
    return seen, chosen, around([sample.ids[k].as_py() for k in numbers.tolist()], texts, chosen)


def _taken(sample: SampledTexts, result: Found) -> Taken:
    counts = result.run.counts
    return Taken(
        documents=len(sample.texts),
        bytes=int(sample.sizes.sum()),
        complete=sample.complete,
        exact_copies=counts.exact_copies,
        empty=counts.empty,
        rejected=len(sample.problems),
        first_problem=_first_problem(sample),
        pairs_left_out=effects.left_out(result),
        notes=sample.notes,
    )


def _first_problem(sample: SampledTexts) -> str:
    if not sample.problems:
        return ""
    first = sample.problems[0]
    return f"{first.source}{'' if first.row is None else f' row {first.row}'}: {first.reason}"
