"""The library of all entries: what has changed is compiled, in all processors, and then all is linked."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RUNTIME = Path(__file__).with_name("runtime.c")
OBJECTS = ROOT / "build" / "kernels"
"""Objects of former builds, by the digest of what they are made of."""
HOST = "host"
LEVELS = {
    "x86-64-v2": (0x00982201, 0, 0, 0, 0, 0x00000001),
    "x86-64-v3": (0x30D83201, 0x00000128, 0, 0, 0, 0x00000021),
    "x86-64-v4": (0x30D83201, 0xD0030128, 0, 0, 0, 0x00000021),
}
"""The levels of the x86-64 psABI, section 3.1.1, as the words of ``nd_processor``."""


class BuildError(RuntimeError):
    """The library cannot be built here."""


class Target(NamedTuple):
    """What a library is built for: its level, and how LLVM and the linker name the machine."""

    level: str
    cpu: str
    features: str
    triple: str


def entries() -> Iterator[Any]:
    """Yield all entries of the package, in order of their names."""
    import neardup.kernels
    import neardup.unicode  # a named tuple of the declarations
    from neardup.kernels.compiler import Entry

    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(neardup.kernels.__path__, "neardup.kernels."):
        if module.name.endswith(".intrinsics"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Entry):
                found[value.name] = value
    yield from (found[name] for name in sorted(found))


def build(folder: Path, level: str = HOST) -> Path:
    """Build the library in a folder, and return its path; what has not changed is not compiled again.

    Raises BuildError without a linker, or if an entry cannot be compiled.
    """
    OBJECTS.mkdir(parents=True, exist_ok=True)
    with _alone():
        return _built(folder, level)


def _built(folder: Path, level: str) -> Path:
    from kernelbuild import machine
    from neardup.kernels import native

    state = native.state_of_sources()
    target = machine.target_of(level)
    linker = machine.linker_of()
    path = folder / f"{level}{native.SUFFIX}"
    jobs = _jobs(target)
    missing = [job for job in jobs.values() if not job.file.exists()]
    if missing:
        _compile(missing, target)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OBJECTS) as place:
        about = {"entries": {name: job.words for name, job in jobs.items()}, "needs": machine.needs_of(target)}
        made = Path(place, path.name)
        _link(made, [job.file for job in jobs.values()], about, linker, target)
        os.replace(made, path)
    (folder / "sources.txt").write_text(state)
    return path


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process builds: it compiles what this one needs."""
    with open(OBJECTS / "lock", "w", encoding="utf-8") as file:
        with suppress(ImportError):  # Windows
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Job(NamedTuple):
    """A declaration of an entry to be compiled."""

    module: str
    name: str
    number: int
    words: str
    weight: int
    file: Path


def _jobs(target: Target) -> dict[str, Job]:
    """Return the declarations of all entries by their symbols."""
    from kernelbuild import objects
    from neardup.kernels.declarations import spelled
    from neardup.kernels.native import symbol

    found = {}
    for entry in entries():
        module, _, name = entry.name.partition(":")
        for number, signature in enumerate(entry.signatures):
            named = symbol(entry.name, number)
            file = OBJECTS / f"{named}-{objects.digest(entry, number, repr(target))}.o"
            found[named] = Job(module, name, number, spelled(signature), objects.weight(entry), file)
    return found


def _compile(jobs: list[Job], target: Target) -> None:
    """Compile objects, the dearest first; entries of a module together, since they have parts in common."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.module, []).append(job)
    pending = sorted(groups.values(), key=lambda group: -sum(job.weight for job in group))
    workers = min(_processors(), len(pending))
    done = 0
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(target,)
    ) as pool:
        for future in as_completed([pool.submit(_compile_group, group, target) for group in pending]):
            done += future.result()
            sys.stderr.write(f"kernels: {done} of {len(jobs)} compiled\n")


def _begin(target: Target) -> None:
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = target.cpu, target.features


def _compile_group(jobs: list[Job], target: Target) -> int:
    import gc

    from kernelbuild import machine, objects

    gc.disable()  # compiling makes a million objects that stay, and each collection would scan them all
    emitter = machine.emitter_of(target)
    known = {entry.name: entry for entry in entries()}  # all: an entry may use a named tuple of another module
    for job in jobs:
        code = objects.object_of(known[f"{job.module}:{job.name}"], job.number, 3, emitter)
        part = job.file.with_suffix(f".{os.getpid()}")
        part.write_bytes(code)
        os.replace(part, job.file)
    return len(jobs)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _link(path: Path, objects: list[Path], about: dict[str, Any], linker: list[str], target: Target) -> None:
    from kernelbuild import machine

    described = path.with_suffix(".c")
    text = json.dumps(json.dumps(about, separators=(",", ":")))
    shown = "__declspec(dllexport)" if "windows" in target.triple else '__attribute__((visibility("default")))'
    described.write_text(f"{shown} const char *nd_about = {text};\n", encoding="utf-8")
    names = path.with_suffix(".rsp")
    names.write_text("\n".join(f'"{file.as_posix()}"' for file in objects), encoding="utf-8")
    line = [*linker, *machine.shared(target, path, [RUNTIME, described, f"@{names}"])]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the linker failed: {' '.join(line[:6])} …\n{done.stderr[-2000:]}")
