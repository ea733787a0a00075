"""Outputs that are whole under their names or absent, and the kinds of a file: pages, images, tables, lists."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.io.place import require_local
from neardup.io.writers.filesystem import EVERYBODY, WorkingPlace, flush, restrict, unwritable_error
from neardup.io.writers.object_stores import UNFINISHED, RemoteOutput, staging_path, url_of
from neardup.runtime import installed_version

_BEGINNING = 2048
# In the head of each page, after its content security policy.
_PAGE_HEAD = b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv='
_PAGE_MARK = b'\n<meta name="generator" content="neardup'
REDLINE_MARK = b"neardup redline"
"""The comment at the end of a document with tracked changes."""
_METRICS_HEAD = b"# HELP neardup_"
_IMAGE_HEAD = b'<svg xmlns="http://www.w3.org/2000/svg" class="neardup-'

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")

WRITTEN_BY = b"neardup_version"
"""The key in the metadata of the schema of a table; JSON files have it as a key of theirs."""
_GENERATOR = re.compile(r'\n<meta name="generator" content="[^"\n]*">')


class Output:
    """A context manager that begins in a place of its own; on any exception the place is removed.

    A subclass makes the output in ``begin`` and publishes it in ``end``. Raises OutputError.
    """

    new_target: ClassVar[str]
    """The allowed target without ``overwrite``."""

    def __init__(self, path: str | Path, overwrite: bool) -> None:
        url = url_of(path)
        if url is None:
            require_local(path)
        self.remote = None if url is None else RemoteOutput(url)
        self.target = Path(os.path.abspath(os.path.expanduser(path if url is None else staging_path(url))))
        self.shown = str(self.target) if self.remote is None else self.remote.shown
        self.overwrite = overwrite
        self.place = WorkingPlace(self.target)

    def begin(self) -> None:
        """Refuse a target that cannot be used, and begin the output."""
        raise NotImplementedError

    def end(self, *, whole: bool) -> None:
        """Finish the output, and publish it if it is ``whole``."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            with self.translated_errors():
                self.begin()
        except BaseException:
            self.place.remove()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            with self.translated_errors():
                self.end(whole=error is None)
        finally:
            self.place.remove()
            if self.remote is not None:
                with suppress(OSError):  # --resume keeps its parts beside the output
                    self.target.parent.rmdir()

    def _open_place(self) -> None:
        """Open the place to write to, in a folder that is made if it is missing."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        if self.remote is not None:  # whole, but not put by an earlier run
            remove_staged(self.target)
        self._check_target()
        self.place.open()

    def _check_target(self) -> None:
        """Raise OutputError if the target exists and may not be replaced."""
        raise NotImplementedError

    def exists_already(self) -> bool:
        """Return whether the target exists. Raises OutputError if it does and may not be replaced."""
        if self.remote is not None:
            names = self.remote.names()
            exists = not self.remote.free_or_unfinished(names)
        else:
            exists = os.path.lexists(self.target)
        if exists and not self.overwrite:
            raise OutputError(
                f"{self.shown} exists already",
                self.new_target,
                "Choose another name, or give --overwrite (overwrite=True) to replace it",
            )
        return exists

    @contextmanager
    def existing_path(self) -> Iterator[Path]:
        """Yield the path of the existing target: itself, or of a URL a copy that shows whose it is."""
        if self.remote is None:
            yield self.target
            return
        names = [name for name in self.remote.names() if name != UNFINISHED]
        copy = self.remote.sketch_of(names)
        try:
            yield copy
        finally:
            shutil.rmtree(copy if copy.is_dir() else copy.parent, ignore_errors=True)

    def put(self) -> None:
        """Put a published output to its URL, if it has one; the one here is removed."""
        if self.remote is not None:
            self.remote.put(self.target)
            remove_staged(self.target)

    @contextmanager
    def translated_errors(self, name: str = "") -> Iterator[None]:
        """Turn an OSError within the block into an OutputError about the output, or the file ``name`` in it."""
        try:
            yield
        except OSError as error:
            raise unwritable_error(self.target / name, error) from error


def remove_staged(place: Path) -> None:
    """Remove an output here that has a URL."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


class WholeFolder(Output):
    """A folder as a context manager: complete under its name, or absent.

    Files are written into a private folder next to it, which at the end is flushed to the disk and renamed. Only a
    folder that ``require_own`` accepts is replaced, and only on request. Raises OutputError.
    """

    new_target = "A folder that does not exist yet"

    def __init__(self, path: str | Path, overwrite: bool) -> None:
        super().__init__(path, overwrite)
        self._access = EVERYBODY

    def begin(self) -> None:
        """Make the private folder."""
        self._open_place()
        self._check_target()  # a folder that a killed run had set aside may be back
        self.place.new.mkdir()

    def restrict(self, access: int) -> None:
        """Limit the permissions to read and write the folder to these (see ``filesystem.common_access``)."""
        self._access &= access

    def path(self, name: str = "") -> Path:
        """Return the path at which to write a file of that name; without a name, that of the folder itself."""
        return self.place.new / name

    def publish(self) -> None:
        """Give the folder its name."""
        restrict(self.path(), self._access)
        flush(self.path())
        self._check_target()
        try:
            if os.path.lexists(self.target):
                # Check again where nobody can add files, so that only files written by neardup are removed.
                self.require_own(self.place.set_aside())
            self.place.publish()
        except BaseException:
            self.place.put_back()
            raise
        self.put()

    def require_own(self, folder: Path) -> None:
        """Raise OutputError unless this folder, which has or had the target's name, may be replaced."""
        raise NotImplementedError

    def _check_target(self) -> None:
        if self.exists_already():
            with self.existing_path() as folder:
                self.require_own(folder)


class OutputFile(Output):
    """A file as a context manager: complete under its name, or absent.

    It is opened at once, in a separate place next to the target, so that an unwritable location is found before
    the work. On any exception it is removed. Only files of the same kind (``is_own``) are overwritten, and only on
    request. ``access``: the permissions of its input (``access.py``). Raises OutputError.
    """

    kind: ClassVar[str] = "a file"
    new_target = "A file that does not exist yet"
    head: ClassVar[bytes] = b""
    """The beginning of all files of this kind."""

    mark: ClassVar[bytes] = b""
    """In the head of all files of this kind."""

    replaces: ClassVar[bool] = False
    """Whether a file of an earlier run is replaced without being asked for."""

    def __init__(self, path: str | Path, *, overwrite: bool = False, access: int = EVERYBODY) -> None:
        super().__init__(path, overwrite or self.replaces)
        self.access = access

    def begin(self) -> None:
        """Open the file."""
        self._open_place()
        self._file = open(self.place.new, "xb")  # noqa: SIM115 - closed in end

    def is_own(self, path: Path) -> bool:
        """Return whether this regular file is of this kind."""
        with open(path, "rb") as file:
            beginning = file.read(_BEGINNING)
        return beginning.startswith(self.head) and self.mark in beginning

    def write_bytes(self, data: bytes) -> None:
        """Append the data."""
        with self.translated_errors():
            self._file.write(data)

    def end(self, *, whole: bool) -> None:
        """Close the file; a whole one gets its name."""
        self._file.close()
        if whole:
            self._publish()

    def _publish(self) -> None:
        restrict(self.place.new, self.access)
        flush(self.place.new)
        self._check_target()
        try:
            if self.overwrite:
                self.place.replace()
            else:
                self.place.publish()
        except FileExistsError:
            self._check_target()
            raise
        self.put()

    def _check_target(self) -> None:
        if not self.exists_already():
            return
        with self.existing_path() as file:
            own = not file.is_symlink() and file.is_file() and self.is_own(file)
        if not own:
            raise OutputError(
                f"{self.shown} is not {self.kind} of neardup",
                f"Only {self.kind} of an earlier run is overwritten",
                "Choose another name, or remove it yourself",
            )


class OutputPage(OutputFile):
    """A page as a context manager: complete under its name, or absent."""

    kind = "a page"
    head, mark = _PAGE_HEAD, _PAGE_MARK

    def write(self, page: str) -> None:
        """Write the page, in UTF-8; a lone surrogate becomes a question mark."""
        self.write_bytes(stamped_page(page).encode("utf-8", "replace"))


class OutputImage(OutputPage):
    """An image as a context manager; one of an earlier run is replaced."""

    kind, head, mark, replaces = "an image", _IMAGE_HEAD, b"", True


class OutputRedline(OutputFile):
    """A document of Word with tracked changes as a context manager: complete under its name, or absent."""

    kind = "a redline"

    def is_own(self, path: Path) -> bool:
        """Return whether neardup wrote the document: the comment at the end of its archive says so."""
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - len(REDLINE_MARK)))
            return file.read() == REDLINE_MARK


class OutputMetrics(OutputFile):
    """Figures in the text format of Prometheus as a context manager; those of an earlier run are replaced."""

    kind, head, replaces = "a file of figures", _METRICS_HEAD, True


class ProblemList(OutputFile):
    """A ``problems.jsonl`` as a context manager: complete under its name, or absent.

    A list of an earlier run, or an empty file, is replaced.
    """

    kind, replaces = "a list of problems", True

    def is_own(self, path: Path) -> bool:
        """Return whether every line is a row of such a list."""
        rows = msgspec.json.Decoder(_Row)
        try:
            with open(path, "rb") as file:
                for line in file:
                    rows.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        return True

    def write(self, problem: object) -> None:
        """Write a row: one JSON object on a line."""
        self.write_bytes(msgspec.json.encode(problem) + b"\n")


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A row of such a list, with exactly these keys."""

    source: str
    row: int | None
    reason: str
    raw: str | None
    file: str | None
    kind: str | None


class OutputTable(OutputFile):
    """A table as a context manager; ``mark`` is the schema metadata key that identifies our tables."""

    kind = "a table of signatures"

    def __init__(self, path: str | Path, mark: bytes, *, overwrite: bool = False) -> None:
        super().__init__(path, overwrite=overwrite)
        self._mark = mark

    def is_own(self, path: Path) -> bool:
        """Return whether it is a table with our mark in its schema."""
        try:
            with pa.OSFile(os.fsencode(path)) as file:
                return self._mark in (_schema(path, file).metadata or {})
        except (OSError, pa.ArrowException):
            return False

    def write(self, table: pa.Table) -> None:
        """Write the table, in the format of the extension."""
        table = table.cast(stamped_schema(table.schema))
        if _is_parquet(self.target):
            # hashes do not repeat: a dictionary would only add cost
            pq.write_table(table, self._file, use_dictionary=["id"], compression="zstd")
        else:
            with pa.ipc.new_file(self._file, table.schema) as writer:
                writer.write_table(table)


def write_table(table: pa.Table, path: str | Path, mark: bytes, *, overwrite: bool = False) -> None:
    """Write the table as Parquet or as an Arrow file, according to the extension. Raises OutputError.

    ``mark``: a key of the metadata of its schema. Only files with that key are overwritten.
    """
    output = OutputTable(path, mark, overwrite=overwrite)
    if output.target.suffix.lower() not in _PARQUET + _ARROW:
        raise OutputError(
            f"{output.target.name} does not say how the table is to be written",
            f"A name that ends in one of {', '.join(_PARQUET + _ARROW)}",
        )
    with output:
        output.write(table)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in _PARQUET


def _schema(path: Path, file: pa.NativeFile) -> pa.Schema:
    return pq.read_schema(file) if _is_parquet(path) else pa.ipc.open_file(file).schema


def stamped_schema(schema: Any) -> Any:
    """Return the schema with the version of this program in its metadata."""
    return schema.with_metadata({**(schema.metadata or {}), WRITTEN_BY: own_version().encode()})


def stamped_page(page: str) -> str:
    """Return the page with the version of this program in its head, after the name of the command."""
    mark = f'\n<meta name="{WRITTEN_BY.decode()}" content="{own_version()}">'
    return _GENERATOR.sub(lambda found: found[0] + mark, page, count=1)


def own_version() -> str:
    """Return the version of this program; "unknown" where it is not installed."""
    return installed_version("neardup") or "unknown"
