"""Families of sketches beside the MinHash of the batch run: samples, textbook and search-engine signatures."""

from neardup.families.sampled import BottomK, Sample, SampledShingles, Samples

__all__ = ["BottomK", "Sample", "SampledShingles", "Samples"]
