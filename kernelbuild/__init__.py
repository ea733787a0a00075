"""The build of the kernels: each entry compiled by Numba to an object file, and all linked into one library.

Nothing of it is in the package. ``hatch_build.py`` calls it when a wheel or an editable installation is made, and
``python -m kernelbuild`` in a working copy.
"""
