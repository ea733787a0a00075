"""``neardup warm``: compile before the first run, with all processors."""

import threading
from subprocess import Popen
from time import monotonic

import typer

from neardup import display
from neardup.cli.messages import DONE, told_if_stopped, warn
from neardup.cli.options.on_files import WarmOptions
from neardup.cli.output import watcher
from neardup.errors import OutputError
from neardup.runtime import Advance


def warm(options: WarmOptions) -> int:
    """Compile the kernels of the commands, once on this machine, so that no command has to wait for them."""
    from neardup.kernels import compile_cache, compiler
    from neardup.kernels.precompilation import (
        COMMON,
        all_commands,
        compile_entry,
        entries_of,
        helped,
        missing,
        processors,
    )

    folders = compile_cache.folders()
    if not compiler.KEEPS:
        raise OutputError(
            "Compiled code cannot be kept with this version of Numba",
            f"numba<{compiler.FIRST_UNKNOWN}, or a newer neardup",
            f"Install one of them: pip install 'numba<{compiler.FIRST_UNKNOWN}'",
        )
    if folders.write is None:
        raise OutputError(
            "No folder can keep compiled code",
            "A folder of yours that others cannot write to",
            f"Set {compile_cache.OURS} to one",
        )
    for note in folders.notes:
        warn(note)
    commands, begin = all_commands() if options.every else list(COMMON), monotonic()
    todo = missing(entries_of(commands))
    kept = "the kernels compiled so far are kept; run it again to go on"
    with (
        told_if_stopped(lambda: kept),
        watcher() as progress,
        progress.stage("compile", len(todo), "kernels") as advance,
    ):
        if todo:
            with helped(commands, processors()) as helpers:
                _wait(helpers, advance)
            # the rest was locked by a process that ended, or no other process could be started
            for entry in missing(todo):
                compile_entry(entry, wait=True)
    _tell(len(todo), len(missing(todo)), monotonic() - begin, str(folders.write))
    return DONE


def _wait(helpers: list[Popen[str]], advance: Advance) -> None:
    """Wait until all helpers have ended; each line of their output is a compiled kernel."""
    lock = threading.Lock()

    def read(process: Popen[str]) -> None:
        for _ in process.stdout or ():
            with lock:
                advance(1)

    threads = [threading.Thread(target=read, args=(process,)) for process in helpers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _tell(todo: int, left: int, seconds: float, folder: str) -> None:
    what = (
        f"{display.counted(todo - left, 'kernel')} compiled in {seconds:.1f} s" if todo else "nothing to compile"
    )
    typer.echo(f"{what}; compiled code is kept in {display.printable(folder)}")
    if left:
        warn(f"{display.counted(left, 'kernel')} could not be compiled; the commands report the reason")
