"""The result of a job on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from neardup.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neardup.spark.job import Job


@dataclass(frozen=True, eq=False)
class Deduplicated:
    """The tables of a result as DataFrames; those of a run on one machine have the same columns and values.

    ``kept``    the documents that stay, with all their columns
    ``groups``  id, group (the id of the representative), representative, similarity, kept, reason, shingles,
    lost_shingles, size
    ``pairs``   id_a, id_b, shared, size_a, size_b, resemblance, containment_a, containment_b, and the measure
    ``copies``  id, copy_of: exact copies
    ``counts``  read, without_text, documents, copies, pairs, groups, kept, removed; by LSH also met (candidate
    pairs and hub documents), verified, joined (documents to join exactly), and left_out of that join

    The tables are on the disks of the executors, or in the folder ``work`` until it is deleted.
    """

    kept: DataFrame
    groups: DataFrame
    pairs: DataFrame
    copies: DataFrame
    counts: dict[str, int]
    settings: Settings
    method: str
    job: Job

    def release(self) -> None:
        """Drop the secret key of the job from the executors."""
        self.job.release()

    def account(self) -> dict[str, Any]:
        """The settings, the method, the counts, and the seconds of the stages, as plain data."""
        from dataclasses import asdict

        values = {name: value for record in asdict(self.settings).values() for name, value in record.items()}
        seconds = {name: round(spent, 3) for name, spent in self.job.seconds.items()}
        return {"settings": values, "method": self.method, "counts": self.counts, "seconds": seconds}
