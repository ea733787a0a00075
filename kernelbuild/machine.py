"""The machines that a library is built for: names of LLVM, the linker, and what the code needs of a processor."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from kernelbuild.library import HOST, LEVELS, RUNTIME, BuildError, Target


def target_of(level: str) -> Target:
    """Return what a level means on this machine."""
    import llvmlite.binding as llvm

    triple = llvm.get_process_triple().replace("windows-msvc", "windows-gnu")  # as the linker has it
    if level == HOST and platform.machine().lower() in ("x86_64", "amd64"):
        return Target(level, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), triple)
    if level in LEVELS:
        return Target(level, level, "", triple)
    return Target(level, "generic", "", triple)


@cache
def emitter_of(target: Target) -> Any:
    """Return LLVM's machine for position-independent code."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(target.triple)
    return machine.create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )


def needs_of(target: Target) -> list[int]:
    """Return the words of ``nd_processor`` that the code of a target needs."""
    if target.level in LEVELS:
        return list(LEVELS[target.level])
    if target.level != HOST:
        return [0] * 6
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # Windows keeps an open library
        made = Path(place, "processor.so")
        subprocess.run([*linker_of(), *shared(target, made, [RUNTIME])], check=True)
        words = (ctypes.c_uint32 * 6)()
        ctypes.CDLL(str(made)).nd_processor(words)
        return list(words)


def shared(target: Target, made: Path, parts: list[str | Path]) -> list[str]:
    """Return the arguments of the C compiler that links a shared library."""
    last = [] if "windows" in target.triple else ["-fPIC", "-lm"]
    return ["-O2", "-shared", "-o", str(made), *map(str, parts), *last]


COMPILERS = () if sys.platform == "win32" else ("cc", "gcc", "clang")
"""Compilers of the system. On Windows one of these names may be that of Cygwin, of Microsoft or of 32 bits, with
which the objects do not fit. There it is that of ``ziglang``, as in a release, unless ``CC`` names one (MinGW)."""


def linker_of() -> list[str]:
    """Return the command of the C compiler: ``CC``, the system's, or else the one in the package ``ziglang``."""
    named = os.environ.get("CC", "").strip()
    if named:
        return shlex.split(named) if os.sep == "/" else shlex.split(named.replace("\\", "/"))
    found = next((path for name in COMPILERS if (path := shutil.which(name))), None)
    if found:
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    needed = f"{', '.join(COMPILERS)} or the package ziglang" if COMPILERS else "the package ziglang"
    system = "Debian: apt-get install gcc; any system: " if COMPILERS else ""
    raise BuildError(
        "the kernels of neardup cannot be linked: there is no C compiler. "
        f"The build needs {needed}. Install one ({system}pip install ziglang), or name one with CC"
    )
