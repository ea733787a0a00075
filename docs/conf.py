"""The settings of Sphinx for the site that ``scripts/docs --site FOLDER`` builds from these pages."""

from importlib.metadata import version as installed
from typing import Any

project = "neardup"
copyright = "the neardup developers"
release = version = installed("neardup")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "docs/index"
templates_path = ["docs/_templates"]
exclude_patterns = ["docs/conf.py"]
html_theme = "furo"
html_extra_path = ["pages"]
html_static_path = ["docs/_static"]
html_css_files = ["site.css"]
_SIDEBAR = ("scroll-start", "brand", "search", "navigation", "scroll-end")
html_sidebars = {"**": [*(f"sidebar/{part}.html" for part in _SIDEBAR), "versions.html"]}
html_title = f"neardup {release}"
myst_heading_anchors = 6
nitpicky = False
smartquotes = False  # they make – of --
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
man_pages = [("docs/reference/cli", "neardup", "find, prove and show near-duplicate documents", [], 1)]


def _plain_bars(_app: object, _kind: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Keep |A| as it is written: reStructuredText would substitute it."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app: Any) -> None:
    """Register the hook."""
    app.connect("autodoc-process-docstring", _plain_bars)
