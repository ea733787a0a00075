"""Deduplication as an Apache Spark job: the same kernels, the same settings and the same answer as on one machine.

Needs the extra ``spark`` and Java 17, and neardup on every machine of the cluster.
"""

from neardup.spark.decontamination import Decontaminated, decontaminate
from neardup.spark.dedup import dedup
from neardup.spark.job import Deduplicated

__all__ = ["Decontaminated", "Deduplicated", "decontaminate", "dedup"]
