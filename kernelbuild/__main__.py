"""``python -m kernelbuild [LEVEL …]``: build the library of this working copy."""

import sys
from time import perf_counter

from kernelbuild.library import HOST, ROOT, build

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    for level in sys.argv[1:] or [HOST]:
        begin = perf_counter()
        path = build(ROOT / "src" / "neardup" / "kernels" / "library", level)
        seconds = perf_counter() - begin
        sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes in {seconds:.1f} s\n")
