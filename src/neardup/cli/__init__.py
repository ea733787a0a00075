"""The command line: parses options, calls the library, and prints results. It contains no algorithm."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from neardup.io.place import ESCAPED


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    _open_closed_streams()
    _write_whole_output()
    for stream in (sys.stdout, sys.stderr):  # names of files may have no form in the encoding of the terminal
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ESCAPED)
    with pandas_hidden() if _is_the_program() else nullcontext():
        try:
            from neardup.cli.help import show_if_asked

            show_if_asked(sys.argv[1:])
            from neardup.cli.app import app
        except KeyboardInterrupt:  # the imports take long enough for an interrupt
            sys.exit(130)
        except (ImportError, MemoryError, OSError) as error:
            if not _is_of_memory(error):
                raise
            # the labels of errors.py, which perhaps cannot be imported
            sys.stderr.write("error: Not enough memory to load neardup\n       Try: Allow it more (ulimit -v)\n")
            sys.exit(2)
        app(prog_name="neardup")


def _is_the_program() -> bool:
    """Whether this process is the command, not a program that calls :func:`main` and may use pandas later."""
    file = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "")
    return file.stem == "neardup" or (file.name == "__main__.py" and file.parent.stem == "neardup")


class _PandasFinder:
    """Lets imports of pandas fail: Arrow imports it, if it is installed, to convert its first value.

    Its import takes as long as reading hundreds of megabytes.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


@contextmanager
def pandas_hidden() -> Iterator[None]:
    """Hide pandas from Arrow within the block, up to :func:`show_pandas`."""
    sys.meta_path.insert(0, _PandasFinder())
    try:
        yield
    finally:
        show_pandas()


def show_pandas() -> None:
    """Undo :func:`pandas_hidden`: PySpark requires pandas to make a table from an Arrow table."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _PandasFinder)]


def _open_closed_streams() -> None:
    """Open the standard streams that were closed (``>&-``): output to a file that refuses it, others to nowhere.

    Otherwise the next file that is opened would become standard output, and receive all that is printed. Printing
    fails as it does for other programs: what is lost is not counted as a success.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # the lowest free number
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _write_whole_output() -> None:
    """Let standard output write all that it is given, also with PYTHONUNBUFFERED.

    Then it has no buffer, and a write that a full disk or the end of a reader cuts off loses the rest in silence.
    """
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        sys.stdout = os.fdopen(sys.stdout.fileno(), "w", 1, encoding=sys.stdout.encoding, closefd=False)


def _is_of_memory(error: BaseException) -> bool:
    """The same test as in runtime.py, which may itself be impossible to load."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or "failed to map" in message or "cannot allocate" in message
