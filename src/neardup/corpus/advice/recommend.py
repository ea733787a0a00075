"""The recommended command line, and a reason for each setting that it names."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from neardup.corpus.advice.outlook import Outlook, Separation
from neardup.corpus.advice.record import BandChoice, Look, Recommendation, Seen, Step, Taken
from neardup.display import counted, percent, similarity
from neardup.settings import FIELDS, IN_SKETCH, KEEP_NONE, MEASURES, Keep, Settings, sketch_text

TOLD = ("threshold", "unit", "length", "method", "measure", "groups")
"""Settings that a recommended command always names."""

NOUNS = {"word": "words", "char": "characters"}


def recommend(
    taken: Taken,
    seen: Seen,
    choice: Separation,
    bands: Sequence[BandChoice],
    settings: Settings,
    words: Sequence[str],
    effect: tuple[Step, int],
) -> Recommendation:
    """Return the command with the chosen settings, and why; ``words`` name the documents on the command line.

    ``effect`` is that of the settings, with the number of documents it was measured on.
    """
    values = settings.as_dict() | chosen_settings(choice, settings.keep)
    values["method"] = "exact" if taken.complete else "auto"
    own = next(one for one in bands if (one.slots, one.recall) == (settings.sketch.slots, settings.search.recall))
    reasons = [*_why_ignored(choice), *_reasons(seen, choice, settings.keep), _why_method(taken, own)]
    return Recommendation(command_line(words, values), values, *effect, tuple(reasons))


def chosen_settings(choice: Separation, keep: Keep) -> dict[str, Any]:
    """Return the settings that are chosen from the sample; without near copies, they are those asked for."""
    values: dict[str, Any] = {}
    chosen = choice.outlook
    if choice.ignore_common:
        values["ignore_common"] = choice.ignore_common
    if chosen.outcome != "no near copies":
        kind = chosen.counts.kind
        values |= {"unit": kind.unit, "length": kind.length, "measure": chosen.measure}
        values |= {"threshold": chosen.threshold, "groups": chosen.groups}
    if keep.keep == KEEP_NONE:
        values["groups"] = "components"
    return values


def command_line(words: Sequence[str], values: dict[str, Any]) -> str:
    r"""Return ``neardup dedup`` with the given arguments and settings, quoted for a POSIX shell.

    >>> command_line(["my mails.jsonl"], {"threshold": 0.9, "keep": "longest"})
    "neardup dedup 'my mails.jsonl' -o cleaned --threshold 0.9"
    >>> command_line(["a.txt"], {"sketch": "classic", "slots": 100})
    'neardup dedup a.txt -o cleaned --sketch classic:100'
    >>> command_line(["a\x1b.txt"], {})
    "neardup dedup $'a\\x1b.txt' -o cleaned"
    """
    named = [
        part
        for name, value in values.items()
        if name not in ("sketch", *IN_SKETCH)
        if name in TOLD or _plain(value) != _plain(FIELDS[name].default)
        for one in (value if isinstance(value, list | tuple) else (value,))
        for part in ((FIELDS[name].option,) if one is True else (FIELDS[name].option, quoted(str(one))))
    ]
    sketch = sketch_text(values)
    if sketch != sketch_text({}):
        named += ["--sketch", sketch]
    return " ".join(["neardup dedup", *map(quoted, words), "-o cleaned", *named])


def _plain(value: Any) -> Any:
    """Return a value that equals the same one read from JSON, where a tuple is a list."""
    return list(value) if isinstance(value, tuple) else value


def quoted(word: str) -> str:
    """Return a word quoted for the shell, control characters escaped, so that none reaches the terminal."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(
        char if char.isprintable() and char not in "\\'" else "".join(f"\\x{byte:02x}" for byte in char.encode())
        for char in word
    )
    return f"$'{escaped}'"


def _why_ignored(choice: Separation) -> Iterator[str]:
    if choice.ignore_common:
        yield (
            f"--ignore-common {choice.ignore_common:g}: text in more than that share of the documents does not "
            "count, so documents in a template are compared by their contents; common.parquet lists that text. If "
            "you have the empty form, --ignore FORM is more exact. If a column holds the subject, such as a "
            "customer or a case, add --within COLUMN."
        )


def _reasons(seen: Seen, choice: Separation, keep: Keep) -> Iterator[str]:
    chosen = choice.outlook
    if chosen.outcome == "no near copies":
        yield (
            "No near copies were found in the documents looked at: by no kind of shingles do some pairs stand out "
            "from the others. The command removes exact copies, and near copies in the rest if there are any."
        )
        return
    if chosen.outcome == "gap":
        if chosen.doubt:
            yield f"Unsure: {chosen.doubt} Look at the pairs around the line first (--dry-run shows the removals)."
        look = look_of(choice.looks, chosen)
        yield _why_shingles(seen, choice, look)
        yield _why_measure(seen, chosen)
        yield _why_threshold(chosen, look)
    else:
        yield from _cautious(chosen)
    yield _why_groups(chosen, keep)


def look_of(looks: Sequence[Look], chosen: Outlook) -> Look:
    """Return the look at the chosen shingles and measure."""
    kind = chosen.counts.kind
    wanted = (kind.unit, kind.length, chosen.measure)
    return next(look for look in looks if (look.unit, look.length, look.measure) == wanted)


def _why_shingles(seen: Seen, choice: Separation, look: Look) -> str:
    kind = choice.outlook.counts.kind
    traits = {trait.name for trait in seen.traits}
    runs = f"--unit {kind.unit} --length {kind.length}: runs of {kind.length} {NOUNS[kind.unit]}"
    others = [
        other for other in choice.looks if other.clear and (other.unit, other.length) != (kind.unit, kind.length)
    ]
    if "noise" in traits and kind.unit == "char":
        return f"{runs} stay equal between the errors of a noisy text; runs of words do not."
    if "short texts" in traits and (kind.unit, kind.length) != ("word", 5):
        return f"{runs} leave short texts more that is equal after a change than runs of 5 words do."
    fewer = [other for other in others if other.pairs < look.pairs]
    if not others:
        return f"{runs} are the only ones by which relatives and strangers are clearly apart."
    if fewer:
        least = min(other.pairs for other in fewer)
        pairs = counted(look.pairs, "pair")
        return f"{runs} separate relatives from strangers and find {pairs}; others find as few as {least:,}."
    return f"{runs} separate relatives from strangers, and no other kind of runs finds more pairs."


def _why_measure(seen: Seen, chosen: Outlook) -> str:
    if chosen.measure == "overlap":
        longer = (
            "a document and a longer one that contains it"
            if {"quotes", "excerpts"} & {trait.name for trait in seen.traits}
            else "relatives of unequal length"
        )
        return (
            f"--measure overlap: {MEASURES['overlap'].help.partition(' ')[2]} keeps {longer} together; by "
            "resemblance, relatives are less clearly apart from strangers."
        )
    return "--measure resemblance: relatives are of similar length, so their common text is most of both."


def _why_threshold(chosen: Outlook, look: Look) -> str:
    low, high, near = similarity(look.low, 2), similarity(look.high, 2), _up(look.strangers_high)
    weakest = similarity(look.relatives_low, 2)
    seen = (
        f"the {counted(look.pairs, 'pair')} found reach {weakest}, and 99 of 100 others are at most {near}."
        if not look.expected_f1
        else f"99 of 100 pairs of strangers are at most {near}, and 19 of 20 pairs of relatives reach {weakest}. "
        f"The expected F1 is {similarity(look.expected_f1, 2)}."
    )
    others = f"Any threshold from {low} to {high} finds nearly the same groups."
    return f"--threshold {chosen.threshold:g}: {seen} {others}"


def _up(value: float) -> str:
    """Return a value with two decimals, rounded up.

    >>> _up(0.0213), _up(0.5)
    ('0.03', '0.50')
    """
    return f"{-(-value * 100 // 1) / 100:.2f}"


def _cautious(chosen: Outlook) -> Iterator[str]:
    kind = chosen.counts.kind
    if chosen.outcome == "template":
        yield (
            f"--threshold {chosen.threshold:g}: strangers in one template are as alike as versions of one text. "
            "This is above all such pairs, so no document goes only because it is in the same template."
        )
    elif chosen.outcome == "one family":
        yield (
            f"--threshold {chosen.threshold:g}: all documents are one family. Each one reaches this resemblance "
            "with another one, and no strangers in the sample show where the family ends. Add other documents to "
            "the sample, or look at the pairs around the line before anything is removed (--dry-run shows the "
            "removals)."
        )
    else:
        yield (
            "There is no gap: no threshold separates groups clearly, so each one cuts through alike pairs. "
            f"--threshold {chosen.threshold:g} is cautious. Look at the pairs around it before anything is "
            "removed (--dry-run shows the removals)."
        )
    yield (
        f"--unit {kind.unit} --length {kind.length}: at a high threshold, a changed word takes less from runs of "
        f"{kind.length} characters than from runs of words."
    )
    yield "--measure resemblance: near copies share nearly all text of both."


def _why_groups(chosen: Outlook, keep: Keep) -> str:
    if keep.keep == KEEP_NONE:
        return "--groups components: with --keep none, all documents of a family go."
    chained, principal = chosen.chained_pairs, chosen.principal_pairs
    if chosen.groups == "components":
        share = percent(chained - principal, max(chained, 1))
        return (
            f"--groups components: {share} of the pairs within groups are linked only through others, and no "
            "chain leads to a stranger. Versions that moved far from the first one stay together."
        )
    if chosen.outcome in ("gap", "one family"):
        more = counted(chained - principal, "further pair") if chained > principal else "nothing more"
        return f"--groups principal: each member is near to its representative itself; chains would find {more}."
    return "--groups principal: without a gap, chains of pairs lead from one text to a stranger."


def _why_method(taken: Taken, own: BandChoice) -> str:
    missed = "" if own.missed is None else f"{expected(own.missed)} of the pairs at the threshold asked for"
    if taken.complete:
        return (
            "--method exact: the sample is small enough to miss no pair. For a much larger collection leave it "
            f"out: the run then chooses by its cost, and the fast method (lsh) would miss {missed}."
        )
    return (
        "--method auto: the run chooses by its cost and reports how. The exact method misses no pair; the fast "
        f"one (lsh) would miss {missed}."
    )


def expected(pairs: float) -> str:
    """Return an expected number of pairs; a small number is not shown as none.

    >>> expected(0.0), expected(0.01), expected(12.34)
    ('none', 'fewer than 0.1', 'about 12.3')
    """
    if not pairs:
        return "none"
    return "fewer than 0.1" if pairs < 0.1 else f"about {pairs:,.1f}"
