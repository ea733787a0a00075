"""Hot loops in Numba: arrays in, arrays out; no settings, no classes, and no files except the compile cache.

Every kernel has a naive twin in ``tests/support/reference.py``. Kernels release the GIL, so that a pool of threads
can run them over record batches. Compiled kernels are kept on disk, so that only the first run on a machine
compiles. ``compiler.py`` is their decorator, ``linker.py`` compiles them, and ``compile_cache.py`` stores the
machine code.
"""
