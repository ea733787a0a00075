"""Hot loops: Numba, arrays in, arrays out; no settings, no classes, and no files but those of the compile cache.

Every kernel has a naive twin in ``tests/support/reference.py``. Kernels release the GIL, so that a pool of
threads runs
them over record batches, and are kept on disk, so that only the first run on a machine compiles.
``compiled.py`` is their decorator, ``linked.py`` how they are compiled, ``compile_cache.py`` where they are kept.
"""
