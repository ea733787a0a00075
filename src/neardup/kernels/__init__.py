"""Hot loops: Numba, arrays in, arrays out; no I/O, no settings, no classes.

Every kernel has a naive twin in ``tests/reference.py``. Kernels release the GIL (``nogil=True``) so that a
pool of threads runs them over record batches, and are cached on disk (``cache=True``) so that only the
first run on a machine compiles.
"""
