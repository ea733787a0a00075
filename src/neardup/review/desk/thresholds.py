"""The effect of stricter thresholds on a result, and pairs around one of them to label."""

import numpy as np

from neardup.deduplication.results import Found, ResultRecord, outcomes, with_account
from neardup.deduplication.reviews import ReviewedResult, after_review
from neardup.display import similarity
from neardup.errors import InputError, NeardupError
from neardup.io.decisions import NO_DECISIONS
from neardup.review.desk.lines import Lines
from neardup.review.desk.texts import PageThread
from neardup.review.source import ThresholdLine, ThresholdView
from neardup.tables import Int64s
from neardup.text.intervals import wilson

VALUES = 13
"""Thresholds whose effect is shown."""
BINS = 20
AROUND = 10
"""Pairs drawn around the line."""
WIDTHS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0)
"""Distances from the line: pairs are drawn from the smallest one that has enough of them."""
MANY_WAIT = 0.01
"""Seconds that a request waits for the effects of many pairs."""
_MANY = 20_000
ALIKE = ("duplicate", "keep both")


class Thresholds(PageThread):
    """The effects of stricter thresholds, counted in the background when they are asked for, once."""

    name = "effects of thresholds"

    def __init__(self, result: ResultRecord, lines: Lines) -> None:
        super().__init__()
        self._found, self._lines = result, lines
        self._effects: list[ThresholdLine] = []
        self._fault = ""
        self.least: float = result.run.settings["threshold"]
        self._histogram = np.histogram(lines.index.pairs.similarity, BINS, (min(self.least, 0.99), 1.0))

    def view(self, value: float | None) -> ThresholdView:
        """Return the histogram, the effects known by now, and the pairs around ``value``.

        Raises InputError for a value below the threshold of the run, where no pairs are stored, or above 1.
        """
        value = self.least if value is None else value
        if not self.least <= value <= 1:
            given = f"The result holds pairs at {self.least:g} and above, and {value:g} was asked for"
            raise InputError(
                given, f"A number from {self.least:g} to 1", "Run neardup again for a lower threshold"
            )
        counts, edges = self._histogram
        near = self._nearest_pairs(value)
        values = self._lines.index.pairs.similarity[near]
        drawn, verdicts = self._drawn_pairs(near)
        known = [verdict for verdict in verdicts if verdict != "unsure"]
        alike = sum(verdict in ALIKE for verdict in known)
        precision = wilson(alike / len(known), len(known)) if known else None
        self._begin()
        budget = self._lines.reader.budget()
        around = self._lines.pairs([(a, b, self._side(a, b, value)) for a, b in drawn], budget)
        self.wait(MANY_WAIT if len(self._lines.index.pairs) > _MANY else budget.seconds_left())
        done = self._done.is_set()
        return ThresholdView(
            tuple(edges.tolist()),
            tuple(counts.tolist()),
            tuple(self._effects),
            len(known),
            alike,
            None if precision is None else (precision.value, precision.low, precision.high),
            around,
            tuple(self._notes()),
            (float(values.min()), float(values.max())) if len(values) else None,
            len(near),
            budget.short or not done,
        )

    def _side(self, a: int, b: int, value: float) -> str:
        stored = self._lines.index.pairs.similarity_of(a, b)
        assert stored is not None
        distance = similarity(abs(stored - value))
        return f"{distance} {'above' if stored >= value else 'below'} the line"

    def _nearest_pairs(self, value: float) -> Int64s:
        """Return the pairs nearest to a value, by similarity: all within the smallest distance that has enough."""
        pairs = self._lines.index.pairs
        order = pairs.by_similarity
        values, near = pairs.sorted_similarity, order
        for width in WIDTHS:
            near = order[slice(*np.searchsorted(values, (value - width, np.nextafter(value + width, 2))))]
            if len(near) >= AROUND:
                break
        return near

    def _drawn_pairs(self, near: Int64s) -> tuple[list[tuple[int, int]], list[str]]:
        """Return some of these pairs to label, and the verdicts on all that were drawn so far.

        They are spread evenly, always the same ones. When all have a verdict, about as many again are drawn
        between them: each label makes the interval narrower, and none was chosen for what it is.
        """
        ends = self._lines.index.pairs.ends
        few, earlier = AROUND, near[:0]
        while True:
            places = evenly_spaced(near, few)
            pairs = {place: (int(ends[0][place]), int(ends[1][place])) for place in places.tolist()}
            judged = {place: self._lines.judged_pair(*pair) for place, pair in pairs.items()}
            waiting = places[np.array([judged[place] is None for place in places.tolist()], np.bool_)]
            if len(waiting) or len(places) == len(near):
                break
            few, earlier = 2 * few - 1, places
        shown = evenly_spaced(waiting if len(earlier) and len(waiting) else places, AROUND)
        verdicts: list[str] = [one.verdict for one in judged.values() if one is not None]
        return [pairs[place] for place in shown.tolist()], verdicts

    def _work(self) -> None:
        if not isinstance(self._found, Found):
            sizes = self._lines.index.size
            left = int(sizes.sum()) - len(sizes)
            self._effects = [ThresholdLine(self.least, len(sizes), int(sizes.sum()), left)]
            self._fault = (
                "A collection has no pairs but those with representatives: other thresholds are not known"
            )
            return
        try:
            for outcome in outcomes(_with_removals(self._found), self._values()):
                if self._closed:
                    return
                self._effects.append(ThresholdLine(*outcome))
        except NeardupError as error:
            self._fault = str(error)

    def _values(self) -> list[float]:
        """Return the threshold of the run, and rounder values up to 1."""
        steps = np.linspace(self.least, 1.0, VALUES)[1:]
        return [self.least, *sorted({round(float(value), 3) for value in steps})]

    def _notes(self) -> list[str]:
        if self._fault:
            return [self._fault]
        if not self._done.is_set():
            return [f"counted at {len(self._effects)} of {len(self._values())} thresholds so far"]
        return []


def _with_removals(result: Found) -> Found:
    """Return the result as ``neardup apply`` would leave it without decisions: ``group`` removes nothing."""
    if result.run.action != "group":
        return result
    reviewed = after_review(result, ReviewedResult("", NO_DECISIONS, {}))
    return with_account(reviewed, decisions=None)


def evenly_spaced(values: Int64s, few: int) -> Int64s:
    """Return ``few`` of the values, at even distances."""
    return values if len(values) <= few else values[np.linspace(0, len(values) - 1, few).round().astype(np.int64)]
