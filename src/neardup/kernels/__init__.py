"""Hot loops: arrays in, arrays out; no settings, no classes, and no files except the library that is made of them.

Every kernel has a naive twin in ``tests/support/reference.py``. Kernels release the GIL, so that a pool of threads
can run them over record batches. They are compiled when the package is built (``kernelbuild``). ``compiler.py``
has their decorators, ``declarations.py`` reads the types of the entries, and ``native.py`` calls them.
"""
