"""The files of a folder: which may be input, whether they are data or documents, and which belong together.

A sample of WebDataset is ``000000.txt``, ``000000.json`` and ``000000.jpg``, in a folder or in an archive. Without
one of its files a sample is broken, so none of them is removed by itself. A Maildir is a folder with ``cur``,
``new`` and ``tmp``; each file in the first two is a mail, whatever its name.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from neardup.errors import InputError
from neardup.io.attachments import BESIDE
from neardup.io.containers.addresses import MARK
from neardup.io.containers.codecs import COMPRESSIONS
from neardup.io.containers.spools import STDIN
from neardup.io.formats import SUFFIXES as DOCUMENT_SUFFIXES
from neardup.io.formats.content import Attachment
from neardup.io.place import shown_name, without_query
from neardup.io.readers.base import NAMED, Aside, Format, names_in_words
from neardup.io.readers.sources import Source
from neardup.io.readers.table_folders import LOGS, table_in

PARTS = ("cur", "new", "tmp")
_READ = PARTS[:2]
UNDELIVERED = "mails that are being delivered"
BESIDE_MAILS = "beside the mails of a Maildir"

# numbers are no suffixes: 2020.01 and 2020.02 do not belong together
_SUFFIX = re.compile(r"\.[a-z][a-z0-9_]*", re.IGNORECASE | re.ASCII)

TEXTS = (*DOCUMENT_SUFFIXES, ".transcript", ".caption")
"""Suffixes of the text of a sample."""

_LABELS = frozenset(
    (
        *("json", "jsn", "cls", "cls2", "class", "count", "index", "inx", "id", "pyd", "pickle", "pkl"),
        *("pth", "pt", "ten", "tb", "mp", "npy", "npz", "cbor", "safetensors"),
        *("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm", "webp", "gif", "tif", "tiff", "bmp", "avif", "heic"),
        *("mp4", "m4v", "ogv", "mjpeg", "avi", "mov", "mkv", "h264", "mpg", "mpeg", "webm", "wmv"),
        *("flac", "mp3", "sox", "wav", "m4a", "ogg", "opus", "wma"),
    )
)
"""Suffixes of the other files of a sample; WebDataset decodes most of them (``webdataset.autodecode``)."""

_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonlines", ".json"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "ipc"),
    **dict.fromkeys((".warc", ".wet", ".wat"), "warc"),
}
SUFFIXES = tuple(_FORMATS)
_BINARY: frozenset[Format] = frozenset(("parquet", "ipc"))
BESIDE_DATA = "beside the data"
NOT_LISTED = "state.json does not list it"
# Files that describe data; in a folder without data they are documents like others.
_COMPANION_NAMES = frozenset(
    (
        *("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json"),
        *("checksums.txt", "md5sums.txt", "sha256sums.txt", "manifest.json"),
    )
)
_COMPANION_STEMS = frozenset(
    ("readme", "license", "licence", "copying", "notice", "citation", "changelog", "contributing")
)
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_STATE_BYTES = 16 << 20

_UNREAD_PACKED = {
    ".br": "brotli",
    ".lz": "lzip",
    ".lzma": "lzma",
    ".lzo": "lzo",
    ".sz": "snappy",
    ".snappy": "snappy",
    ".z": "compress",
}
_UNREAD_KINDS = {
    ".arc": ("an ARC file", "Convert it: warcio recompress FILE.arc.gz FILE.warc.gz"),
    **dict.fromkeys((".avro", ".orc"), ("data of a kind that is not read", "Convert it to Parquet or JSONL")),
}

_ROWS_BYTES = 1 << 20
_NEXT_ROW = re.compile(rb"^\{.*\}[ \t\r]*\n[ \t\r\n]*\{")

OTHER_PROGRAMS = frozenset(("thumbs.db", "desktop.ini", ".ds_store", "ehthumbs.db"))
HIDDEN, PROGRAMS, RESULT = "hidden", "made by other programs for themselves", "a result of neardup"
_OUTSIDE, _IRREGULAR, _CACHE = "a link out of the folder", "no regular file", "another revision, or a cache"
# A result has these files beside its account; another program's run.json has not.
_TABLES = frozenset(("run.json", "groups.parquet", "pairs.parquet"))
_ACCOUNT_BYTES = 64 << 20


def is_maildir(folder: str) -> bool:
    """Return whether a folder is a Maildir."""
    return all(os.path.isdir(os.path.join(folder, part)) for part in PARTS)


def is_message(path: str) -> bool:
    """Return whether a file is a mail in a Maildir."""
    folder, part = os.path.split(os.path.dirname(path))
    return part in _READ and _is_maildir(folder)


@lru_cache(maxsize=1024)
def _is_maildir(folder: str) -> bool:
    return is_maildir(folder)


def samples(files: Sequence[Source]) -> dict[int, tuple[Attachment, ...]]:
    """Return, for each file that belongs to a sample, by place, the first few of the other files of its sample.

    >>> found = samples([Source(name, name) for name in ("a.txt", "a.mask.png", "b.txt", "b.v2.txt")])
    >>> [(place, other.name) for place, others in found.items() for other in others]
    [(0, 'a.mask.png'), (1, 'a.txt')]
    """
    stems: dict[str, list[tuple[str, int]]] = {}
    of_place = [_split(file.path) for file in files]
    for place, (stem, suffix) in enumerate(of_place):
        if not is_message(files[place].path):
            stems.setdefault(stem, []).append((suffix, place))
    linked: dict[int, list[int]] = {}
    for place, (stem, suffix) in enumerate(of_place):
        for shorter in _beginnings(stem):
            for other_suffix, other in stems.get(shorter, ()):
                if other_suffix != suffix:
                    _link(linked, place, other)
                    _link(linked, other, place)
    return {place: tuple(map(_beside, (files[i] for i in sorted(linked[place])))) for place in sorted(linked)}


def whole_samples(files: Sequence[Source], text_suffix: str = "auto") -> dict[int, tuple[int, ...]]:
    """Return, for the text of each sample by place, the places of its other files: they stay or go together.

    The text is the only file with the suffix; by default the only one with the suffix of a document, if labels,
    images and the like are beside it. Other files with one stem are documents of their own.

    >>> names = ["a.txt", "a.json", "a.mask.png", "b.docx", "b.pdf", "c.txt", "c.py"]
    >>> whole_samples([Source(name, name) for name in names])
    {0: (1, 2)}
    >>> whole_samples([Source(name, name) for name in names], ".py")
    {6: (5,)}
    """
    stems: dict[str, list[int]] = {}
    for place, file in enumerate(files):
        if not is_message(file.path):
            *_, shortest = _beginnings(_split(file.path)[0])
            stems.setdefault(shortest, []).append(place)
    wanted = TEXTS if text_suffix == "auto" else (f".{text_suffix.lower().removeprefix('.')}",)
    samples: dict[int, tuple[int, ...]] = {}
    for places in stems.values():
        texts = [place for place in places if _without_compression(files[place].path).endswith(wanted)]
        others = tuple(place for place in places if place not in texts[:1])
        labels = all(_split(files[place].path)[1].lower().removeprefix(".") in _LABELS for place in others)
        if len(texts) == 1 and others and (labels or text_suffix != "auto"):
            samples[texts[0]] = others
    return dict(sorted(samples.items()))


def _without_compression(path: str) -> str:
    stem, suffix = os.path.splitext(path.lower())
    return stem if suffix in COMPRESSIONS else stem + suffix


def whole_samples_note(files: Sequence[Source], found: Mapping[int, Sequence[int]]) -> list[str]:
    """Return a sentence about the samples of several files."""
    if not found:
        return []
    suffixes = sorted({_split(files[place].path)[1] for place in found})
    count = sum(map(len, found.values()))
    return [
        f"{len(found):,} samples of several files, compared by their text ({names_in_words(suffixes)}); the "
        f"{count:,} other files stay or go with it"
    ]


def samples_note(files: Sequence[Source], found: Iterable[int]) -> list[str]:
    """Return a sentence about the files that belong to samples."""
    names = [files[place].name for place in found]
    if not names:
        return []
    return [
        f"{len(names):,} files share their names, up to the suffix, with others: compared, and all kept, since "
        f"they may be parts of one sample: {names_in_words(names)}"
    ]


def _link(linked: dict[int, list[int]], place: int, other: int) -> None:
    others = linked.setdefault(place, [])
    if len(others) < NAMED and other not in others:
        others.append(other)


def _beside(file: Source) -> Attachment:
    return Attachment(os.path.basename(file.name), file.size or 0, BESIDE)


def _split(path: str) -> tuple[str, str]:
    """Split a path into its name without its suffix, and the suffix; that of a compression does not count."""
    stem, suffix = os.path.splitext(path)
    if suffix.lower() in COMPRESSIONS:
        stem, suffix = os.path.splitext(stem)
    return (stem, suffix) if _SUFFIX.fullmatch(suffix) else (stem + suffix, "")


def _beginnings(stem: str) -> Iterator[str]:
    """Yield the stem, and the stem without its further suffixes: a.mask.png goes with a.txt."""
    yield stem
    while _SUFFIX.fullmatch((parts := os.path.splitext(stem))[1]):
        stem = parts[0]
        yield stem


@dataclass(frozen=True)
class Discovered:
    """The files of an input; ``name`` is the display name of a folder of text files.

    The format is ``mixed`` for data files of several formats: ``format_of_source`` has that of each.
    """

    format: Format
    name: str
    sources: tuple[Source, ...]
    aside: tuple[Aside, ...] = ()
    notes: tuple[str, ...] = ()


def format_of(name: str) -> Format:
    """Return the format for the extension of a file name."""
    stem, extension = os.path.splitext(without_query(name).lower())
    if extension in COMPRESSIONS:
        inner = _FORMATS.get(os.path.splitext(stem)[1], "text")
        return "text" if inner in _BINARY else inner
    return _FORMATS.get(extension, "text")


def unread(name: str) -> tuple[str, str] | None:
    """Return the form of a file that is not read, and the remedy; None for any other file.

    >>> unread("a.jsonl.br"), unread("a.jsonl.lz4"), unread("a.parquet.gz")[0]
    (('packed by brotli', 'Unpack it, or pack it by gz, zst, xz, bz2 or lz4'), None, 'Parquet packed as a whole')
    """
    stem, suffix = os.path.splitext(without_query(name).lower())
    if suffix in _UNREAD_PACKED:
        *most, last = (packed.removeprefix(".") for packed in COMPRESSIONS)
        return f"packed by {_UNREAD_PACKED[suffix]}", f"Unpack it, or pack it by {', '.join(most)} or {last}"
    if suffix in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]
        if _FORMATS.get(suffix) in _BINARY:
            return f"{_format_name(_FORMATS[suffix])} packed as a whole", "Unpack it: such files are packed inside"
    return _UNREAD_KINDS.get(suffix)


def holds_rows(file: Source, data: bytes) -> bool:
    """Return whether a file in a folder of documents holds rows: any data file, but JSON of one value."""
    format = "text" if is_message(file.path) else format_of(file.name)
    if format != "jsonl" or not _without_compression(file.name).endswith(".json"):
        return format != "text"
    begin = data[:_ROWS_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith(b"[") or bool(_NEXT_ROW.search(begin))


def format_of_source(source: Source) -> Format:
    """Return the format of a data file, of standard input, or of a version of a table."""
    log, table = os.path.split(os.path.dirname(source.path))[::-1]
    if source.is_local and log in LOGS and table_in(table) is not None:
        return "table"
    return "jsonl" if source.path == STDIN else format_of(source.path)


def decide(folder: str, sources: Sequence[Source]) -> Discovered:
    """Decide whether a folder is data, if other files are few and small in comparison; else one document per file.

    Few and small: not more of them than data files, and at most a tenth of their bytes; files that are not read
    do not count. Rows are no documents: a data file among documents is not judged. Raises InputError if both
    readings are possible, and for files that are not read alone.
    """
    speaking = [source for source in sources if _speaks_of_data(source.name)]
    others = [source for source in sources if not _speaks_of_data(source.name)]
    data = [source for source in others if format_of(source.name) != "text"]
    aside = [source for source in others if unread(source.name)]
    documents = [source for source in others if format_of(source.name) == "text" and source not in aside]
    if aside and not data and not documents:
        raise not_read_error(aside)
    if not data:
        return Discovered("text", shown_name(folder), tuple(sources))
    tables = [source for source in data if format_of(source.name) in _BINARY]
    if _few_beside(documents, data) and (tables or not _are_samples([*data, *documents], len(data))):
        return _as_data(folder, data, [*documents, *speaking], aside)
    if tables and not _few_beside(data, documents):
        raise InputError(
            f"{folder} holds data ({_counts_in_words(data)}) and documents ({len(documents):,}: "
            f"{names_in_words(s.name for s in documents)})",
            "Data, or one document a file, in one run",
            f"Name the intended files by a pattern, for example '{_pattern(folder, data)}'",
        )
    whole = whole_samples(sources)
    samples_of = {sources[place].path for places in whole.values() for place in places}
    if all(source.path in samples_of for source in data):
        return Discovered("text", shown_name(folder), tuple(sources))
    rows = [
        source for source in data if not _without_compression(source.name).endswith(".json")
    ]  # or one value each
    note = "{} in a folder of documents: rows are not compared; '{}' names such files"
    notes = (note.format(_counts_in_words(rows), _pattern(folder, rows)),) if rows else ()
    return Discovered("text", shown_name(folder), tuple(sources), (), notes)


def partition_of(name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the Hive partition encoded in the folders of a name, around an archive and in it.

    >>> partition_of("date=2024-01-01/lang=__HIVE_DEFAULT_PARTITION__/part.parquet")
    (('date', '2024-01-01'), ('lang', None))
    >>> partition_of("lang=en/a=b.zip!/date=2024/x.jsonl")
    (('lang', 'en'), ('date', '2024'))
    """
    archive, mark, inside = name.partition(MARK)
    if mark:
        return (*partition_of(archive), *partition_of(inside))
    folders = (folder.partition("=") for folder in name.replace(os.sep, "/").split("/")[:-1])
    return tuple(
        (unquote(key), None if value == NULL_PARTITION else unquote(value))
        for key, equals, value in folders
        if key and equals
    )


def _speaks_of_data(name: str) -> bool:
    """Return whether this is a README, a dataset_info.json, or a writer's _SUCCESS or _metadata file."""
    base = os.path.basename(name).lower()
    return (
        base in _COMPANION_NAMES
        or (os.path.splitext(base)[0] in _COMPANION_STEMS and format_of(base) == "text")
        or (base.startswith("_") and "." not in base)
    )


def _few_beside(few: Sequence[Source], many: Sequence[Source]) -> bool:
    sizes = [sum(source.size or 0 for source in part) for part in (few, many)]
    return not few or (len(few) <= len(many) and 10 * sizes[0] <= sizes[1])


def _are_samples(files: Sequence[Source], data: int) -> bool:
    """Whether most of the first files, which may be data, have other files of their sample beside them."""
    return 2 * sum(place < data for place in samples(files)) > data > 1


def not_read_error(files: Sequence[Source]) -> InputError:
    """Return the error for files that are not read, and nothing else."""
    what, do = unread(files[0].name) or ("", "")
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    return InputError(
        f"{files[0].name}{more} is not read: {what}", "Documents, or data in a form that is read", do
    )


def _as_data(
    folder: str, data: Sequence[Source], rest: Sequence[Source], left: Sequence[Source] = ()
) -> Discovered:
    listed, unlisted = _separate_caches(data, rest)
    reasons = ((source.name, unread(source.name)) for source in left)
    aside = [*(Aside(name, f"not read: {why[0]}") for name, why in reasons if why)]
    aside += [*(Aside(s.name, BESIDE_DATA) for s in rest), *(Aside(s.name, NOT_LISTED) for s in unlisted)]
    formats = {format_of(source.name) for source in listed}
    format: Format = formats.pop() if len(formats) == 1 else "mixed"
    return Discovered(format, shown_name(folder), tuple(listed), tuple(aside))


def _separate_caches(data: Sequence[Source], rest: Sequence[Source]) -> tuple[list[Source], list[Source]]:
    """Separate the files of a saved dataset from the caches that the library leaves beside them."""
    states = {os.path.dirname(s.name): s for s in rest if os.path.basename(s.name) == "state.json" and s.is_local}
    listed: list[Source] = []
    unlisted: list[Source] = []
    known = {folder: _files_of(state) for folder, state in states.items()}
    for source in data:
        files = known.get(os.path.dirname(source.name))
        (listed if files is None or os.path.basename(source.name) in files else unlisted).append(source)
    return (listed, unlisted) if listed else (list(data), [])


def _files_of(state: Source) -> frozenset[str] | None:
    try:
        if (state.size or 0) > _STATE_BYTES:
            return None
        with open(state.path, "rb") as file:
            files = json.load(file)["_data_files"]
        return frozenset(str(item["filename"]) for item in files)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _counts_in_words(sources: Sequence[Source]) -> str:
    counts = Counter(format_of(source.name) for source in sources)
    first = {kind: next(s.name for s in sources if format_of(s.name) == kind) for kind in counts}
    return ", ".join(
        f"{counts[kind]:,} {_format_name(kind)} ({first[kind]}{' …' * (counts[kind] > 1)})" for kind in counts
    )


def _format_name(kind: Format) -> str:
    return {"ipc": "Arrow", "parquet": "Parquet", "jsonl": "JSON", "csv": "CSV", "warc": "WARC"}.get(kind, kind)


def _pattern(folder: str, data: Sequence[Source]) -> str:
    largest = max(data, key=lambda source: source.size or 0)
    stem, suffix = os.path.splitext(os.path.basename(largest.name))
    if suffix.lower() in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1] + suffix
    return os.path.join(folder, "**" if os.path.dirname(largest.name) else "", "*" + suffix)


def walk(root: str, left_out: Collection[str], aside: list[Aside]) -> Iterator[tuple[str, str]]:
    """Yield (name below the folder, path) of its visible, regular files; the rest goes to ``aside``.

    Links are followed to files inside the folder only. A snapshot in a cache of the Hugging Face hub consists of
    links to the blobs beside it, and these are followed too.
    """
    roots = (os.path.realpath(root), *_blobs(root))
    for folder, folders, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        if relative != "." and is_result(folder, files):
            folders[:] = []
            aside.append(Aside(shown_name(relative), RESULT))
            continue
        table = table_in(os.path.abspath(folder))
        if table is not None:
            folders[:] = []
            aside.append(Aside(shown_name(relative), f"{table.called}, to be named by itself"))
            continue
        _prune(folder, relative, folders, aside)
        for name in files:
            path, below = os.path.join(folder, name), os.path.normpath(os.path.join(relative, name))
            if left_out and os.path.realpath(path) in left_out:
                continue
            why = not_input(name) or (BESIDE_MAILS if is_maildir(folder) else None) or _unfit(path, roots)
            if why:
                aside.append(Aside(shown_name(below), why))
            else:
                yield below, path


def not_input(name: str) -> str | None:
    """Return why a file of this name is not input, or None: it is hidden, or internal to other programs.

    >>> not_input("Thumbs.db"), not_input("a.txt")
    ('made by other programs for themselves', None)
    """
    if name.lower() in OTHER_PROGRAMS or name.startswith("~$"):
        return PROGRAMS
    return HIDDEN if name.startswith(".") else None


def is_result(folder: str, names: Iterable[str]) -> bool:
    """Return whether a folder with files of these names is the result of a run."""
    if not set(names) >= _TABLES:
        return False
    try:
        path = os.path.join(folder, "run.json")
        if os.path.getsize(path) > _ACCOUNT_BYTES:
            return False
        with open(path, "rb") as file:
            account = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(account, dict) and {"neardup_version", "format", "settings_digest"} <= account.keys()


def result_around(folder: str, base: str) -> str | None:
    """Return the folder, or one around it up to ``base``, that is a result of a run; else None."""
    folder = os.path.abspath(folder)
    base = os.path.abspath(base)
    while folder.startswith(base):
        try:
            if os.path.exists(os.path.join(folder, "run.json")) and is_result(folder, os.listdir(folder)):
                return folder
        except OSError:
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return None


def _prune(folder: str, relative: str, folders: list[str], aside: list[Aside]) -> None:
    """Remove folders without input: hidden ones, the store behind a hub's snapshots, mails not yet delivered."""
    hub = {"blobs", "refs"} if {"blobs", "snapshots"} <= set(folders) else set()
    mails = is_maildir(folder)
    why = dict.fromkeys(hub, _CACHE)
    for name in folders:
        # the folders of a Maildir, such as .Sent, are hidden folders within it
        if name.startswith(".") and not (mails and is_maildir(os.path.join(folder, name))):
            why[name] = HIDDEN
    if mails:
        why["tmp"] = UNDELIVERED
    for name in sorted(why.keys() & set(folders)):
        below = os.path.normpath(os.path.join(relative, name))
        if why[name] != UNDELIVERED or os.listdir(os.path.join(folder, name)):
            aside.append(Aside(shown_name(below) + "/", why[name]))
    folders[:] = [name for name in folders if name not in why]


def _unfit(path: str, roots: Iterable[str]) -> str | None:
    if os.path.islink(path):
        real = os.path.realpath(path)
        if not any(real.startswith(root + os.sep) for root in roots):
            return _OUTSIDE
    return None if os.path.isfile(path) else _IRREGULAR


def _blobs(root: str) -> Iterator[str]:
    """Yield the folder with the files of a hub's snapshot: ``.../blobs`` for ``.../snapshots/REVISION``."""
    before, found, _ = (os.path.realpath(root) + os.sep).rpartition(f"{os.sep}snapshots{os.sep}")
    blobs = os.path.join(before, "blobs")
    if found and os.path.isdir(blobs):
        yield os.path.realpath(blobs)
