"""The purposes of options and commands, under which the help shows them, and the examples at its end."""

from __future__ import annotations

from collections.abc import Mapping

INPUT, COMPARED, SEARCH, GROUPS = "Input", "What is compared", "Search", "Groups"
STAY, EARLIER, OUTPUT, WORK, OTHER = "Documents that stay", "Earlier results", "Output", "Work", "Help"
ACCESS = "Access"

PANELS = (INPUT, ACCESS, COMPARED, SEARCH, GROUPS, STAY, EARLIER, OUTPUT, WORK, OTHER)
"""The purposes, in the order of the help."""

LONG = 15
"""Commands with this many options or more show them by purpose."""

OF_RECORDS: Mapping[str, str] = {
    "shingles": COMPARED,
    "cleaning": COMPARED,
    "base": COMPARED,
    "relations": COMPARED,
    "sketch": SEARCH,
    "simhash": SEARCH,
    "search": SEARCH,
    "grouping": GROUPS,
    "keep": STAY,
    "reading": INPUT,
    "work": WORK,
}
"""The purpose of the settings of each record."""

OF_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(("against", "against_text", "against_id"), INPUT),
    **dict.fromkeys(
        ("inputs", "text", "id", "a", "b", "other", "literal", "sample", "parts", "metadata", "role"), INPUT
    ),
    **dict.fromkeys(("ignore", "by", "measure", "matching", "threshold", "min_chunk"), COMPARED),
    **dict.fromkeys(
        ("tokenizer", "stop_words", "ignore_numbers", "near", "on_near", "skip_near", "near_recall"), COMPARED
    ),
    **dict.fromkeys(("simhash", "documents", "new_slots"), SEARCH),
    **dict.fromkeys(("new_length", "new_scale", "new_floor"), COMPARED),
    **dict.fromkeys(("pairs", "kinds"), OUTPUT),
    **dict.fromkeys(("decisions", "stored", "moved", "merged", "key", "update", "new_key", "shingles"), EARLIER),
    **dict.fromkeys(("out", "shard_size", "annotate", "store_texts", "name_groups", "wanted"), OUTPUT),
    **dict.fromkeys(
        ("dry_run", "json", "overwrite", "svg", "html", "full", "width", "problems", "replace"), OUTPUT
    ),
    **dict.fromkeys(("host", "port", "token_file", "create", "page"), ACCESS),
    **dict.fromkeys(("largest_body", "most_hits", "most_candidates", "seconds", "requests", "stop_seconds"), WORK),
    **dict.fromkeys(("path", "names", "example"), INPUT),
    **dict.fromkeys(("family", "numbers", "seed", "coefficients", "band_rows"), COMPARED),
    **dict.fromkeys(("engine", "master", "resume", "predict", "memory", "threads", "wait"), WORK),
}
"""The purposes of other options, and of settings that are not where their record is."""

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


def panel_of(name: str, record: str | None) -> str:
    """Return the purpose of an option; ``record`` is that of a setting, None for any other."""
    return OF_OPTIONS.get(name) or (OF_RECORDS[record] if record is not None else OTHER)
