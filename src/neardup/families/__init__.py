"""Families of sketches beside the MinHash of the batch run: samples, textbook and search-engine signatures."""

from neardup.families.bucketed import BucketMinHash
from neardup.families.sampled import BottomK, Sample, SampledShingles, Samples
from neardup.families.slots import Signature, SlotFamily
from neardup.families.stored import Signatures, from_datasketch, read_signatures, write_signatures
from neardup.families.textbook import BBit, ModP, MultiplyShift

__all__ = [
    "BBit",
    "BottomK",
    "BucketMinHash",
    "ModP",
    "MultiplyShift",
    "Sample",
    "SampledShingles",
    "Samples",
    "Signature",
    "Signatures",
    "SlotFamily",
    "from_datasketch",
    "read_signatures",
    "write_signatures",
]
