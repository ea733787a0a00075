"""The library of compiled kernels that was built with the package; ``calls.py`` calls its functions.

The library knows neither Python nor NumPy, so one serves all their versions. It names the parts of a processor
that its code needs; of several libraries the first that fits is taken.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "library"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
WORKING_COPY = Path(__file__).parents[3]
LEVELS = ("host", "x86-64-v4", "x86-64-v3", "x86-64-v2", "generic")
"""Libraries by the processor that they are for, best first; "host": the one of the machine that built it."""
FEATURE_WORDS = 6
_WITHOUT_KERNELS = {"calls.py", "compiler.py", "native.py", "plain_bits.py"}
_AGAIN = "Install neardup again, with --force-reinstall --no-cache-dir, on this machine"


class LibraryError(ImportError):
    """There is no library of compiled kernels for this machine; ``parts`` are those of ``errors.NeardupError``."""

    def __init__(self, *parts: str) -> None:
        self.parts = parts
        super().__init__(f"{'. '.join(parts)}.")


class Library:
    """An open library: its functions, and the record of its build."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.code = ctypes.CDLL(str(path))
        self.about: dict[str, Any] = json.loads(ctypes.c_char_p.in_dll(self.code, "nd_about").value or b"{}")
        self.release = self.code.nd_release
        self.release.argtypes, self.release.restype = [ctypes.c_void_p], None

    def fits(self) -> bool:
        """Return whether this processor has the instructions of the code."""
        here = (ctypes.c_uint32 * FEATURE_WORDS)()
        self.code.nd_processor(here)
        return all(needed & ~has == 0 for needed, has in zip(self.about["needs"], here, strict=True))

    def live(self) -> int:
        """Return the number of arrays that kernels made and nobody has freed."""
        return int(ctypes.c_int64.in_dll(self.code, "nd_live").value)

    def function(self, kernel: str, number: int, words: str) -> Any:
        """Return the function of a declaration of an entry. Raises LibraryError if the library has none."""
        name = symbol(kernel, number)
        if self.about["entries"].get(name) != words:
            raise _stale(self.path, kernel)
        found = self.code[name]
        found.restype, found.argtypes = ctypes.c_int32, [ctypes.c_void_p]
        return found


def symbol(kernel: str, number: int = 0) -> str:
    """Return the name of an entry in the library, which profilers show.

    >>> symbol("neardup.kernels.text.tokens:tokenise")
    'nd_text_tokens_tokenise'
    """
    name = kernel.removeprefix("neardup.kernels.").replace(".", "_").replace(":", "_")
    return f"nd_{name}_{number}" if number else f"nd_{name}"


@cache
def library() -> Library:
    """Return the best library for this processor. Raises LibraryError without one."""
    if (WORKING_COPY / "kernelbuild").is_dir():
        _renew()
    found = [FOLDER / f"{level}{SUFFIX}" for level in LEVELS]
    found = [path for path in found if path.exists()]
    for path in found:
        try:
            opened = Library(path)
        except (OSError, ValueError) as error:
            raise LibraryError(
                f"The compiled kernels {path} cannot be loaded: {error}",
                "The library that is built with neardup",
                _AGAIN,
            ) from None
        if opened.fits():
            return opened
    if found:
        raise LibraryError(
            f"The kernels of this neardup were compiled for another processor ({found[-1].stem})",
            "A released wheel, or one that was built from the sources on a processor like this one",
            _AGAIN,
        )
    raise LibraryError(
        f"There are no compiled kernels in {FOLDER}",
        "A released wheel, which has them, or an installation from the sources, which compiles them",
        _AGAIN,
    )


def state_of_sources() -> str:
    """Return a digest of the sizes and times of the modules of kernels, which changes when one is edited."""
    folder = FOLDER.parent
    states = [(path, path.stat()) for path in sorted(folder.rglob("*.py")) if path.name not in _WITHOUT_KERNELS]
    lines = [f"{path.relative_to(folder)} {state.st_mtime_ns} {state.st_size}" for path, state in states]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _renew() -> None:
    """Build the library of a working copy anew if a kernel was edited; only what changed is compiled."""
    state = FOLDER / "sources.txt"
    if state.exists() and state.read_text() == state_of_sources():
        return
    done = subprocess.run([sys.executable, "-m", "kernelbuild"], cwd=WORKING_COPY, capture_output=True, text=True)
    if done.returncode:
        raise LibraryError(
            f"The kernels in {FOLDER.parent} have changed since they were compiled, and compiling them failed:\n"
            f"{done.stderr[-2000:].rstrip()}",
            "A kernel that Numba compiles, and the dependency group dev",
            "Correct the kernel, or install the group: ./scripts/test does",
        )


def _stale(path: Path, kernel: str) -> LibraryError:
    return LibraryError(
        f"The compiled kernels {path} have no {kernel} as it is declared",
        "A library that was built from the same sources as the package",
        _AGAIN,
    )
