"""Representatives, and the order of a keep policy."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.group.leaders import GroupRules, Grouped, merge_tables
from neardup.deduplication.group.rows import Ids, JudgedRows, keep_columns, keep_rank
from neardup.kernels.groups import unite
