"""The recommended command line, a reason for each setting that it names, and the pairs around its threshold."""

import shlex
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from neardup.corpus.advice.outlook import Outlook
from neardup.corpus.advice.record import Apart, Around, Look, Recommendation, Step
from neardup.display import counted, percent, similarity
from neardup.settings import FIELDS, IN_SKETCH, KEEP_NONE, Keep, Settings, sketch_text
from neardup.tables import Int64s

TOLD = ("threshold", "unit", "length", "method", "measure", "groups")
"""Settings that a recommended command always names."""

WITHOUT_GAP = {
    "template": "unrelated documents in one template are as alike as versions of one text. This is above all such "
    "pairs, so no document goes only because it is in the same template.",
    "one family": "all documents are versions of one text: each reaches this resemblance with another one. Add "
    "others to the sample, to show where the versions end.",
    "no gap": "there is no gap: any threshold cuts through alike pairs, and this one is cautious.",
}
"""The reason for the threshold, by outcome."""

METHODS = {
    "exact": "--method exact: the sample is small enough to miss no pair. For much larger ones leave it out.",
    "auto": "--method auto: the run chooses by its cost, and reports how.",
}

EACH = 5
"""Pairs shown on either side."""

EXAMINED = 2000
"""More pairs than this are not examined for five that have no document in common."""

WORDS, SHOWN, LETTERS = 600, 12, 90
"""Words of a text that are compared for a passage; words, and letters, of the passage that are shown."""


def recommend(
    choice: Outlook,
    complete: bool,
    settings: Settings,
    words: Sequence[str],
    effect: tuple[Step, int],
) -> Recommendation:
    """Return the command with the chosen settings, and why; ``words`` name the documents on the command line.

    ``complete``: the sample is all of the documents. ``effect`` is that of the settings, with the number of
    documents it was measured on.
    """
    values = settings.as_dict() | chosen_settings(choice, settings.keep)
    values["method"] = "exact" if complete else "auto"
    reasons = [*_reasons(choice, settings.keep), METHODS[values["method"]]]
    return Recommendation(command_line(words, values), values, *effect, tuple(reasons))


def chosen_settings(chosen: Outlook, keep: Keep) -> dict[str, Any]:
    """Return the settings that are chosen from the sample; without near copies, they are those asked for."""
    values: dict[str, Any] = {}
    if chosen.ignore_common:
        values["ignore_common"] = chosen.ignore_common
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


def _reasons(chosen: Outlook, keep: Keep) -> Iterator[str]:
    kind = chosen.counts.kind
    if chosen.doubt:
        yield (
            f"The advice is unsure: {chosen.doubt} Look at the pairs around the line before anything is removed "
            "(--dry-run shows the removals)."
        )
    else:
        looked = counted(len(chosen.similar), "document")
        yield f"The advice is sure, for versions of the kinds that show in the {looked} looked at."
    if chosen.ignore_common:
        reached = f"an expected F1 of {similarity(chosen.without, 2)} at most" if chosen.without else "no gap"
        compared = "documents in a template are compared by their contents" * bool(chosen.templated)
        yield (
            f"--ignore-common {chosen.ignore_common:g}: text in more than that share of the documents does not "
            f"count, so {compared or 'they are compared by their rarer text'}; common.parquet lists it. With that "
            f"text there is {reached}."
        )
        if chosen.templated:
            yield "An empty form in --ignore is more exact, and so is --within with the column of the subject."
    if chosen.outcome == "no near copies":
        yield (
            "No near copies were found in the documents looked at: no pairs stand out. The command removes "
            "exact copies, and near copies in the rest if there are any."
        )
        return
    runs = f"--unit {kind.unit} --length {kind.length} --measure {chosen.measure}"
    if chosen.outcome == "gap":
        wanted = (kind.unit, kind.length, chosen.measure)
        look = next(look for look in chosen.looks if (look.unit, look.length, look.measure) == wanted)
        yield f"{runs}: {_why_runs(chosen, look)}"
        yield _why_threshold(chosen, look)
    else:
        yield f"--threshold {chosen.threshold:g}: {WITHOUT_GAP[chosen.outcome]}"
        yield f"{runs}: at a high threshold, a changed word takes less from runs of characters than of words."
    yield f"--groups {'components' if keep.keep == KEEP_NONE else chosen.groups}: {_why_groups(chosen, keep)}"


def _why_runs(chosen: Outlook, look: Look) -> str:
    if not any(other.clear for other in chosen.looks if other is not look):
        return "nothing else in the table below separates versions from unrelated documents as clearly."
    return f"they separate versions from unrelated documents, and group {counted(look.pairs, 'pair')}."


def _why_threshold(chosen: Outlook, look: Look) -> str:
    near, weakest = at_most(look.strangers_high), similarity(look.relatives_low, 2)
    seen = (
        f"99 of 100 pairs of unrelated documents are at most {near}, and 19 of 20 pairs of versions reach "
        f"{weakest}. The expected F1 is {similarity(look.expected_f1, 2)}, if there are no versions but those "
        "that a row of the table shows."
        if look.expected_f1
        else f"the {counted(look.pairs, 'pair')} grouped reach {weakest}, and 99 of 100 others are at most {near}."
    )
    low, high = similarity(look.low, 2), similarity(look.high, 2)
    return f"--threshold {chosen.threshold:g}: {seen} Any from {low} to {high} finds nearly the same groups."


def at_most(value: float) -> str:
    """Return a similarity rounded up.

    >>> at_most(0.0101), at_most(0.5)
    ('0.02', '0.50')
    """
    return f"{-(-value * 100 // 1) / 100:.2f}"


def _why_groups(chosen: Outlook, keep: Keep) -> str:
    chained, principal = chosen.chained_pairs, chosen.principal_pairs
    if keep.keep == KEEP_NONE:
        return "with --keep none, all documents of a connected component go."
    if chosen.groups == "components":
        share = percent(chained - principal, max(chained, 1))
        return (
            f"{share} of the pairs in groups are linked through others alone, and no chain leads to another text."
        )
    if chosen.outcome in ("gap", "one family"):
        more = counted(chained - principal, "further pair") if chained > principal else "nothing more"
        return f"each member is near to its representative itself; chains would find {more}."
    return "without a gap, chains of pairs lead from one text to another."


def around(ids: Sequence[str], texts: Sequence[str], chosen: Outlook) -> Around:
    """Return the pairs closest to the threshold; a document appears twice only if there are no others."""
    a, b = np.triu_indices(len(texts), 1)
    values = chosen.similar[a, b].astype(np.float64)
    over = np.flatnonzero(values >= chosen.threshold)
    under = np.flatnonzero((values < chosen.threshold) & (values > 0))
    sides = []
    for side, away in ((over, values[over]), (under, -values[under])):
        order = side[np.argsort(away, kind="stable")[:EXAMINED]]
        near = sorted(_different(a, b, order), key=lambda k: -values[k])
        ends = [(int(a[k]), int(b[k]), float(values[k])) for k in near]
        sides.append(tuple(Apart(ids[i], ids[j], value, *passages(texts[i], texts[j])) for i, j, value in ends))
    kind = chosen.counts.kind
    return Around(kind.unit, kind.length, chosen.measure, chosen.threshold, sides[0], sides[1])


def _different(a: Int64s, b: Int64s, order: Int64s) -> list[int]:
    """Return the first EACH of the pairs, those without a document seen before first."""
    seen: set[int] = set()
    fresh: list[int] = []
    again: list[int] = []
    for k in order.tolist():
        ends = {int(a[k]), int(b[k])}
        (again if seen & ends else fresh).append(k)
        seen |= ends if fresh[-1:] == [k] else set()
        if len(fresh) == EACH:
            break
    return (fresh + again)[:EACH]


def passages(a: str, b: str) -> tuple[str, str]:
    """Return the passages of the longest difference between two texts, cut to some words; "" for nothing.

    >>> passages("pay the invoice by Friday noon", "pay the invoice by Monday morning at noon")
    ('Friday', 'Monday morning at')
    """
    first, second = a.split()[:WORDS], b.split()[:WORDS]
    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    differences = [(first[i:j], second[k:n]) for step, i, j, k, n in steps if step != "equal"]
    longest = max(differences, key=lambda found: len(found[0]) + len(found[1]), default=([], []))
    return _cut(longest[0]), _cut(longest[1])


def _cut(words: list[str]) -> str:
    shown = " ".join(words[:SHOWN])
    if len(shown) > LETTERS:
        return shown[:LETTERS] + " …"
    return shown + " …" * (len(words) > SHOWN)
