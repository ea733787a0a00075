"""Pictures for pages: bars, curves and their elements, and the styles of the pages."""

# mypy: implicit-reexport
# ruff: noqa: F401
# fmt: off

from neardup.display.charts import ChartBar, Histogram, bars, columns
from neardup.display.curves import CountCurves, ErrorBar, SCurve, error_bars, heat_map
from neardup.display.style import notebook_style, page_style
from neardup.display.svg import Picture, text
