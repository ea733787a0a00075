"""Resolve the user's input (file, folder, glob, URL) to files and their format."""

import glob
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from neardup.errors import InputError
from neardup.io.containers.addresses import MARK, WEB_ARCHIVE, is_container, open_container, split_address
from neardup.io.containers.codecs import COMPRESSIONS
from neardup.io.containers.spools import STDIN, read_stdin
from neardup.io.formats import SUFFIXES as DOCUMENT_SUFFIXES
from neardup.io.place import shown_name, without_password, without_query, without_secrets
from neardup.io.readers import folders
from neardup.io.readers.base import Aside, Format, aside_note, names_in_words
from neardup.io.readers.sources import Source
from neardup.io.readers.table_folders import LOGS, refuse_part, refuse_remote, table_source
from neardup.io.storage.answers import longer, network_errors, once, retried_answer
from neardup.io.storage.pins import Pin
from neardup.io.storage.spool import FetchedFile
from neardup.io.storage.systems import COMMIT, at_commit, filesystem, is_web

_INDEX = "the index of a web archive"
_MAC = "__MACOSX"  # copies of file properties that macOS adds to archives

_CHECK = "Check the spelling; quote a pattern so that the shell leaves it alone"

SUFFIXES_OF_FILES = (*folders.SUFFIXES, *DOCUMENT_SUFFIXES, *COMPRESSIONS)
"""Suffixes of the files that are input."""

# Texts without such a suffix are looked up only if they are few and short enough to be names.
_FEW, _LONGEST_NAME = 1000, 4096

_DATABASES = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}
"""Where the files of databases have which bytes."""


def split_pattern(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Split a pattern into the folder before its first wildcard and the parts from there on; None for other names.

    >>> split_pattern("mails/2024/*.txt"), split_pattern("*"), split_pattern("a.zip!/[1].txt"), split_pattern("a")
    (('mails/2024', ('*.txt',)), ('.', ('*',)), None, None)
    """
    container, _ = split_address(name) or (name, "")
    if not glob.has_magic(container):
        return None
    parts = Path(name).parts
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:fixed]).as_posix(), parts[fixed:]


def matching(folder: str, parts: Sequence[str], allowed: Callable[[str], bool]) -> Iterator[str]:
    """Yield the visible files below a folder that the parts of a pattern match.

    ``allowed`` is asked about every file and folder, with all links followed, before it is opened; the others are
    as absent. ``**`` follows no link to a folder.
    """
    first, rest = parts[0], parts[1:]
    deep = first == "**"
    if deep and rest:
        yield from matching(folder, rest, allowed)
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # no folder, or one that may not be listed
        return
    for entry in entries:
        hidden = folders.not_input(entry.name) and not first.startswith(".")
        if hidden or not (deep or fnmatch(entry.name, first)) or not allowed(os.path.realpath(entry.path)):
            continue
        if entry.is_dir():
            if deep and not entry.is_symlink():
                yield from matching(entry.path, parts, allowed)
            elif rest and not deep:
                yield from matching(entry.path, rest, allowed)
        elif entry.is_file() and not rest:
            yield entry.path


def member_sources(source: Source, aside: list[Aside]) -> list[Source]:
    """Return the members of an archive or mailbox, or the file itself; members that are not input go to ``aside``.

    An archive that cannot be opened stays as a file with a ``failure``; the lost rest of one that is cut off is a
    member without a name.
    """
    if not is_container(source.path) or source.is_remote:
        return [source]
    try:
        container = open_container(source.path)
    except OSError as error:
        return [Source(source.name, source.path, source.size, failure=error.strerror or str(error))]
    found: list[Source] = []
    for name, size in container.members:
        why = _not_input(name) or (_INDEX if is_index(source.path, name) else None)
        if why:
            aside.append(Aside(f"{source.name}{MARK}{shown_name(name)}", why))
        else:
            found.append(Source(f"{source.name}{MARK}{shown_name(name)}", f"{source.path}{MARK}{name}", size))
    for name, why in container.left_out:
        aside.append(Aside(f"{source.name}{MARK}{shown_name(name)}" if name else source.name, why))
    if container.broken is not None:
        found.append(Source(source.name, source.path + MARK, 0))
    return found


def is_index(container: str, name: str) -> bool:
    """Return whether a member of a web archive is not one of its WARC files.

    >>> is_index("a.wacz", "pages/pages.jsonl"), is_index("a.wacz", "archive/data.warc.gz"), is_index("a.zip", "b")
    (True, False, False)
    """
    web = container.lower().endswith(WEB_ARCHIVE)
    return web and not (name.startswith("archive/") and folders.format_of(name) == "warc")


def is_lost(source: Source) -> bool:
    """Return whether this is an archive that could not be opened, or the lost rest of one."""
    return source.failure is not None or source.path.endswith(MARK)


def find_member(name: str, path: str) -> Source:
    """Return the member that a path names. Raises InputError if there is none."""
    container, member = split_address(path) or (path, "")
    try:
        with Source(name, path).open_raw() as file:
            return Source(name, os.path.abspath(path), int(file.size()))
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error}",
            f"A document in {container}",
            "Check the spelling" if member else f"Name the whole: {container}",
        ) from error


def several_members_error(name: str, path: str) -> InputError:
    """Return the error for an archive or mailbox where one document is asked for."""
    try:
        first = next(iter(open_container(path).members), None)
    except OSError as error:
        return InputError(f"{name} cannot be read: {error}", "One document", "Make or copy it again")
    example = f", such as {name}{MARK}{first.name}" if first else ""
    return InputError(f"{name} is an archive or mailbox", "One document", f"Name a document in it{example}")


def _not_input(name: str) -> str | None:
    parts = name.split("/")
    if parts[0] == _MAC:
        return folders.HIDDEN
    return next(filter(None, map(folders.not_input, parts)), None)


def find_files(names: Sequence[str | Path], without: Collection[Path] = ()) -> folders.Discovered:
    """Return the files that the names refer to; data files may be of several formats.

    ``without``: local files that are never input, even if a name matches them.
    """
    left_out = frozenset(os.path.realpath(path) for path in without)
    parts = [_find(str(name), left_out) for name in names]
    first = parts[0]
    format = _common_format([(part.format, part.sources[0]) for part in parts])
    sources = first.sources if len(parts) == 1 else (s for part in parts for s in _under_own_name(part))
    unique = {source.path: source for source in sources}
    aside = tuple(
        item if len(parts) == 1 else replace(item, name=os.path.join(part.name, item.name))
        for part in parts
        for item in part.aside
    )
    notes = (*aside_note(aside), *(note for part in parts for note in part.notes))
    return folders.Discovered(
        format, first.name if len(parts) == 1 else "input", tuple(unique.values()), aside, notes
    )


def _under_own_name(part: folders.Discovered) -> Iterator[Source]:
    """Put the folder before the names of its text files, since two folders may have files of the same name."""
    for source in part.sources:
        yield replace(source, name=name_among(part.name, source.name)) if part.format == "text" else source


def name_among(folder: str, name: str) -> str:
    """Return the name of a document among several inputs: below its folder; a member, where its archive is.

    >>> name_among("letters", "a.txt"), name_among("old/b.zip", "b.zip!/a.txt"), name_among("a.txt", "a.txt")
    ('letters/a.txt', 'old/b.zip!/a.txt', 'a.txt')
    """
    if name == folder:
        return name
    inside = is_container(folder) and name.startswith(os.path.basename(folder))
    return os.path.join(os.path.dirname(folder) if inside else folder, name)


def refuse_names(texts: Sequence[object]) -> None:
    """Raise InputError for a list of str that are file names: they may be meant as texts or as files."""
    known = names_among(texts)
    if known:
        raise InputError(
            f"The list holds texts that are names of files: {names_in_words(known)}",
            "A list of pathlib.Path means files, a list of str means texts",
            "Give [Path(name) for name in names] to read the files, or pyarrow.array(names) to compare the names",
        )


def names_among(texts: Sequence[object]) -> list[str]:
    """Return the texts that are surely names of files: of files that exist, by their suffix or all together."""
    few = len(texts) <= _FEW
    strings = [text for text in texts if isinstance(text, str) and len(text) <= _LONGEST_NAME]
    strings = [text for text in strings if any(map(str.isalnum, text))]  # "." is a folder, and a text
    suspects = [text for text in strings if text.lower().endswith(SUFFIXES_OF_FILES)]
    known = [text for text in suspects if _exists(text)]
    if not known and few and len(strings) == len(texts) and all(map(_exists, strings)):
        known = strings
    return known


def _exists(name: str) -> bool:
    try:
        return os.path.exists(os.path.expanduser(name))
    except (OSError, ValueError):  # impossible names: with a NUL or a lone surrogate
        return False


def database_of(name: str) -> str | None:
    """Return the kind of database that an input is: PostgreSQL by its URL, SQLite and DuckDB by their first bytes.

    >>> database_of("postgresql://ann@host/letters"), database_of("letters.jsonl")
    ('PostgreSQL', None)
    """
    if name.startswith(("postgresql://", "postgres://")):
        return "PostgreSQL"
    path = os.path.expanduser(name)
    if "://" in name or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(32)
    return next((kind for kind, (offset, mark) in _DATABASES.items() if head[offset:].startswith(mark)), None)


def find_file(name: str | Path) -> Source:
    """Return the one file that a path or URL refers to."""
    shown = str(name)
    if "://" in shown:
        return Source(without_secrets(shown), shown)
    path = os.path.expanduser(shown)
    table = table_source(shown, path)
    if table is not None:
        return table
    inside = split_address(path)
    if inside is not None and not os.path.exists(path):
        return find_member(shown, path)
    if os.path.isdir(path):
        raise InputError(f"{shown} is a folder", "One file", "Name a file in it")
    if not os.path.exists(path):
        raise InputError(f"There is no file {shown}", "An existing file", _CHECK)
    _require_regular(shown, path)
    if is_container(path):
        raise several_members_error(shown, path)
    return local_source(shown, path)


def _find(name: str, left_out: frozenset[str]) -> folders.Discovered:
    if "://" in name:
        return _find_remote(name)
    if name == STDIN:
        return folders.Discovered("jsonl", "stdin", (Source("stdin", STDIN, read_stdin()),))
    path = os.path.expanduser(name)
    table = table_source(name, path)
    if table is not None:
        return folders.Discovered("table", table.name, (table,))
    refuse_part(name, path)
    if os.path.isdir(path):
        return _find_folder(name, path, left_out)
    if os.path.exists(path):
        _require_regular(name, path)
        if os.path.realpath(path) in left_out:
            raise InputError(f"{name} is the collection itself, or belongs to it", "Files of documents", _CHECK)
        if is_container(path):
            return _find_inside(name, path)
        return _files(name, [_read_kind(local_source(name, path))])
    if split_address(path) is not None:
        return _files(name, [_read_kind(find_member(name, path))])
    if not glob.has_magic(path):
        raise InputError(f"There is no file or folder {name}", "An existing file, folder or pattern", _CHECK)
    return _find_pattern(name, path, left_out)


def _find_folder(name: str, path: str, left_out: frozenset[str]) -> folders.Discovered:
    if folders.is_result(path, os.listdir(path)):
        kept = [entry for entry in sorted(os.listdir(path)) if entry.startswith("kept")]
        documents = f"its kept documents are {os.path.join(name, kept[0])}" if kept else "it has no kept documents"
        raise InputError(
            f"{name} is the result of a run of neardup",
            "Documents",
            f"Look at it with neardup report {name} or nd.load; {documents}",
        )
    aside: list[Aside] = []
    sources = [local_source(below, found) for below, found in folders.walk(path, left_out, aside)]
    aside.sort(key=lambda item: item.name)
    sources.sort(key=lambda source: source.name)
    return _folder(name, [found for source in sources for found in member_sources(source, aside)], aside)


def _find_inside(name: str, path: str) -> folders.Discovered:
    """Find the documents in an archive or mailbox."""
    aside: list[Aside] = []
    sources = member_sources(local_source(os.path.basename(path), path), aside)
    if len(sources) == 1 and sources[0].failure is not None:
        raise InputError(
            f"{name} cannot be read: {sources[0].failure}", "A whole archive or mailbox", "Make or copy it again"
        )
    if not sources:
        left = f" that are input; {aside_note(aside)[0]}" if aside else ""
        raise InputError(f"{name} has no documents{left}", "An archive or mailbox with documents", _CHECK)
    return _folder(name, sources, aside)


def _find_pattern(name: str, path: str, left_out: frozenset[str]) -> folders.Discovered:
    found = (hit for hit in glob.glob(path, recursive=True) if os.path.isfile(hit))
    hits = sorted(hit for hit in found if os.path.realpath(hit) not in left_out)
    if not hits:
        raise InputError(f"No file matches {name}", "A pattern such as data/*.jsonl or data/**/*.txt", _CHECK)
    fixed = _fixed_part(path)
    # a pattern that contains "kept" refers to the kept documents of a run
    means_kept = any(part.startswith("kept") for part in path.split(os.sep))
    results = {folder: folders.result_around(folder, fixed) for folder in {os.path.dirname(hit) for hit in hits}}
    sources, aside = [], {}
    for folder in results:
        refuse_part(name, os.path.join(folder, ""))
    for hit in hits:
        inside = None if means_kept else results[os.path.dirname(hit)]
        why = folders.RESULT if inside else folders.not_input(os.path.basename(hit))
        left_unread = folders.unread(hit)
        why = why or (f"not read: {left_unread[0]}" if left_unread else None)
        if why:
            aside[os.path.relpath(inside, fixed or ".") if inside else hit] = why
        else:
            source = local_source(hit, hit)
            sources.append(replace(source, partition=folders.partition_of(os.path.relpath(hit, fixed or "."))))
    left = [Aside(item, why) for item, why in aside.items()]
    if not sources:
        raise InputError(f"No input matches {name}; {aside_note(left)[0]}", "Files of documents", _CHECK)
    if any(is_container(source.path) for source in sources):
        return _folder(name, [found for source in sources for found in member_sources(source, left)], left)
    return replace(_files(name, sources), aside=tuple(left))


def root_of(name: str) -> str | None:
    """Return the folder that a name of an input refers to, or the fixed part of a pattern; None for a file."""
    path = name if "://" in name else os.path.expanduser(name)
    if glob.has_magic(path) and not os.path.exists(path):
        return _fixed_part(path) or os.curdir
    return name if os.path.isdir(path) else None


def _fixed_part(pattern: str) -> str:
    """Return the folders of a pattern before its first wildcard; names below them may encode a partition."""
    parts = pattern.split(os.sep)
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return os.sep.join(parts[:first]) or (os.sep if pattern.startswith(os.sep) else "")


def _require_regular(name: str, path: str) -> None:
    """Refuse pipes and devices: they can be read only once, and a run needs several passes."""
    if not os.path.isfile(path):
        raise InputError(
            f"{name} is a pipe or a device",
            "A file or folder, since the documents are read in several passes",
            "Write the documents to a file first",
        )


def local_source(name: str, path: str) -> Source:
    """Return a local file; bytes of a name that are not UTF-8 are shown as escapes."""
    try:
        size: int | None = os.stat(path).st_size
    except OSError:
        size = None
    return Source(shown_name(name), os.path.abspath(path), size)


def _folder(name: str, sources: list[Source], aside: Sequence[Aside]) -> folders.Discovered:
    """Treat a folder as data, or as one document per file."""
    if not sources:
        left = f" that are input; {aside_note(aside)[0]}" if aside else ""
        raise InputError(f"The folder {name} has no files{left}", "At least one visible file", _CHECK)
    lost = [source for source in sources if is_lost(source)]
    decided = folders.decide(name, [source for source in sources if not is_lost(source)])
    found = decided.sources
    if lost:  # where they are among the others
        places = {source.path: place for place, source in enumerate(sources)}
        found = tuple(sorted((*found, *lost), key=lambda source: places[source.path]))
    if decided.format != "text":
        found = tuple(
            replace(
                source, name=_join_path(shown_name(name), source.name), partition=folders.partition_of(source.name)
            )
            for source in found
        )
    return replace(decided, sources=found, aside=(*decided.aside, *aside))


def _join_path(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if "://" in folder else name_among(folder, name)


def _files(name: str, sources: list[Source]) -> folders.Discovered:
    format = _common_format([(folders.format_of(source.path), source) for source in sources])
    return folders.Discovered(format, shown_name(name), tuple(sources))


def _read_kind(source: Source) -> Source:
    """Return a file that the user named. Raises InputError for one whose data are not read."""
    if folders.unread(source.name):
        raise folders.not_read_error([source])
    return source


def _common_format(inputs: Sequence[tuple[Format, Source]]) -> Format:
    """Return the format of inputs, or ``mixed``. Raises InputError for data beside files that are documents."""
    firsts: dict[Format, Source] = {}
    for format, source in inputs:
        firsts.setdefault(format, source)
    if len(firsts) == 1:
        return inputs[0][0]
    if "text" in firsts:
        other, data = next((format, source) for format, source in firsts.items() if format != "text")
        raise InputError(
            f"{firsts['text'].name} is one document, and {data.name} is data ({other})",
            "Data, or one document a file, in one run",
            "Run them separately",
        )
    return "mixed"


def _find_remote(url: str) -> folders.Discovered:
    system, path = filesystem(url)
    path = retried_answer(url, lambda: at_commit(system, path))
    if glob.has_magic(without_query(path)):
        hits: dict[str, dict[str, Any]] = retried_answer(
            url, lambda: system.glob(path, detail=True), more=longer()
        )
        found = [_remote_source(system, hit, hits[hit]) for hit in sorted(hits) if hits[hit]["type"] == "file"]
        if not found:
            raise InputError(
                f"No file matches {without_password(url)}", "A pattern such as s3://bucket/*.parquet", _CHECK
            )
        with network_errors(url):
            _refuse_parts_at(system, url, list(hits))
        return _files(without_secrets(url), found)
    file = FetchedFile(str(system.unstrip_protocol(path)))
    if (
        without_query(file.address).endswith("/")
        if is_web(url)
        else retried_answer(url, lambda: system.isdir(path))
    ):
        aside: list[Aside] = []
        below = _below(system, path, aside)
        below.sort(key=lambda source: source.name)
        return _folder(without_secrets(url), below, aside)
    source = Source(without_secrets(url), file.url, file.pin.size, remote=file)
    return _files(without_secrets(url), [_read_kind(source)])


def _refuse_parts_at(system: Any, url: str, hits: Sequence[str]) -> None:
    """Raise InputError if files that a pattern matches belong to a table; servers of HTTP list no folders."""
    if is_web(url):
        return
    for folder in {str(parent) for hit in hits for parent in PurePosixPath(hit).parents}:
        for log in LOGS:
            try:
                listed = once(url, partial(system.ls, f"{folder}/{log}", detail=False))
            except TimeoutError:
                raise
            except (OSError, ValueError):  # no such folder; the hub has none above a repository
                continue
            refuse_remote(without_secrets(url), listed)


def _remote_source(system: Any, path: str, info: dict[str, Any]) -> Source:
    url = str(system.unstrip_protocol(path))
    listed = Pin.of(info, info.get("size"))
    return Source(COMMIT.sub("", without_secrets(url)), url, listed.size, remote=FetchedFile(url, listed))


def _below(system: Any, root: str, aside: list[Aside]) -> list[Source]:
    url = str(system.unstrip_protocol(root))
    files: dict[str, dict[str, Any]] = retried_answer(url, lambda: system.find(root, detail=True), more=longer())
    refuse_remote(without_secrets(url), list(files))
    sources = []
    for path, info in files.items():
        name = path[len(root.rstrip("/")) + 1 :]
        why = next(filter(None, map(folders.not_input, name.split("/"))), None)
        if why:
            aside.append(Aside(name, why))
        else:
            sources.append(replace(_remote_source(system, path, info), name=name))
    return sources
