"""Answers of a collection: hits, near documents, passages and pages."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.collection.near import Near, RECALL
from neardup.collection.pages import Excerpt, Hit, HitEvidence, HitField, Page, Passage, hit_fields
from neardup.collection.passages import LENGTH, MOST, SharedPassage, SharedPassages, passages_with, shared_passages
from neardup.collection.search import (
    Bounds, Evaluation, LIMIT, NearMeasure, WhyNot, explain, found_by, near_query, search, why_not,
)
from neardup.collection.sets import Role, Sets, reaches, role_of
from neardup.collection.view import View
from neardup.comparison.compare import compare
