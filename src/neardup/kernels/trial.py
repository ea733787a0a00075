"""Check whether ``linker.py`` works with the installed Numba, in a process of its own that succeeds if it does.

A part and an entry are compiled, kept, and read again as another process would; results and errors must be right.
"""

from typing import Any

import numpy as np
from numba import typeof

from neardup.kernels import compile_cache


def check() -> None:
    """Compile, keep, reload and call the kernels; raise if any step fails."""
    seen: list[str] = []
    compile_cache.watchers.append(lambda what, _: seen.append(what))
    values = np.arange(5)
    keeps = compile_cache.folders().write is not None
    for compiled in (True, False):
        whole = _kernels()
        for at in range(5):
            _require(int(whole(values, at)) == 4 * at)
        try:
            whole(values, 5)
        except IndexError as error:
            _require(str(error) == "no such place")
        else:
            _require(False)
        _require((compile_cache.STARTED in seen) == (compiled or not keeps))
        seen.clear()


def _kernels() -> Any:
    """Return an entry that calls a part, both new, so that neither has been compiled before."""
    from neardup.kernels.linker import kernel

    def twice(values, at):
        if at >= values.size:
            raise IndexError("no such place")
        return 2 * values[at]

    part = kernel(twice, "never")

    def four_times(values, at):
        return part(values, at) + part(values, at)

    return kernel(four_times, "never")


def _require(right: bool) -> None:
    if not right:
        raise AssertionError("kernels of this Numba have an unexpected form")


def main() -> None:
    """Run the check in the folder of all kernels, and leave no kernel there."""
    from neardup.kernels.signatures import read, spelled

    name = _kernels().file_name(tuple(read(f"({spelled(typeof(np.arange(5)))}, int64)")))
    compile_cache.discard(name)
    try:
        check()
    finally:
        compile_cache.discard(name)


if __name__ == "__main__":
    main()
