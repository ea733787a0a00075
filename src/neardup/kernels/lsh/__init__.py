"""Kernels of bands and buckets, and of Hamming distances."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.lsh.buckets import (
    band_keys, bucket_mates, bucket_pairs, enter_buckets, neighbours, wrapped_keys,
)
from neardup.kernels.lsh.hamming import near_in_runs, near_queries, pairs_alike, prefix_keys, run_ends, varying
