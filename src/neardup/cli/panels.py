"""The purposes of commands, under which the help shows them, and the examples at its end."""

from __future__ import annotations

from collections.abc import Mapping

LONG = 15
"""Commands with this many options or more show them by purpose."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "Find near copies": ("dedup", "group", "plan", "compare", "explain", "demo"),
    "Look at a result": ("show", "report", "review", "export", "import"),
    "In parts, and new documents every day": ("fingerprint", "merge", "shingles"),
    "Collections": (
        "add",
        "remove",
        "list",
        "search",
        "groups",
        "decide",
        "serve",
        "mcp",
        "info",
        "check",
        "compact",
        "backup",
    ),
    "This installation": ("warm",),
}
"""The commands by purpose."""

EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("neardup posts.jsonl", "the ten largest groups of near copies; nothing is written"),
        ("neardup dedup posts.jsonl -o cleaned", "the documents that stay, and the evidence"),
    ),
    "dedup": (
        (
            "neardup dedup shards/ -o cleaned --by lang --keep max:stars",
            "each language by itself; the best rated stays",
        ),
        ("neardup dedup a.jsonl -o - | gzip > kept.jsonl.gz", "the kept rows alone, in a pipe"),
    ),
    "group": (
        ("neardup group mails/ -o groups --threshold 0.7", "which mails are near copies; none is removed"),
        ("neardup group --from groups -o strict --threshold 0.9", "the same pairs, a stricter threshold"),
    ),
    "plan": (
        ("neardup plan posts.jsonl", "advice on the threshold, from a sample of the documents"),
        ("neardup plan --threshold 0.7 --recall 0.999", "the bands that find such pairs"),
    ),
    "compare": (
        ("neardup compare draft.docx final.pdf", "two files, side by side"),
        ("neardup compare cleaned 17 42 --html pair.html", "two documents of a result, as a page"),
    ),
    "fingerprint": (
        ("neardup fingerprint part-1.jsonl -o fp/1", "the first pass over a part, on any machine"),
        ("neardup merge fp -o merged", "then all parts together"),
    ),
    "merge": (
        ("neardup merge fp -o merged", "near copies among all parts"),
        ("neardup dedup part-1.jsonl --merged merged -o kept-1", "then the kept rows of each part"),
    ),
    "add": (
        ("neardup add library.neardup new/ --near 0.8", "documents and their near copies in a collection"),
        ("neardup search library.neardup SIMILAR:42_70", "then the documents similar to one"),
    ),
}
"""Two examples of each command with a long help: what to type, and the effect."""
