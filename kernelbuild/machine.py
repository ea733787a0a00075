"""The machines that a library is built for: names of LLVM, the linker, and what the code needs of a processor."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
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

    triple = llvm.get_process_triple()
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
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "processor.so")
        subprocess.run([*linker_of(), "-O2", "-shared", "-fPIC", "-o", str(made), str(RUNTIME)], check=True)
        words = (ctypes.c_uint32 * 6)()
        ctypes.CDLL(str(made)).nd_processor(words)
        return list(words)


def linker_of() -> list[str]:
    """Return the command of the C compiler: the system's, or else the one in the package ``ziglang``."""
    named = os.environ.get("CC")
    if named:
        return named.split()
    found = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if found:
        return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise BuildError(
        "the kernels of neardup cannot be linked: there is no C compiler. The build needs cc, gcc or clang or the "
        "package ziglang. Install one (Debian: apt-get install gcc; any system: pip install ziglang), or name one "
        "with CC"
    )
