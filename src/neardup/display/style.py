"""The style of everything shown as HTML: tokens of colour, type and space, and the style sheets made of them.

There is one palette. All rules are inside ``.neardup``. A page follows the light or dark scheme of the system. A
notebook has a theme of its own, whatever the system: its paper and ink are taken from the variables of JupyterLab
(which nbconvert has, too) or VS Code, and the other colours from the attributes that mark a dark theme. Elsewhere,
as in the classic notebook, everything is dark on white. The rules of the page around are undone first, with
selectors that outweigh those of notebooks for tables (``.jp-RenderedHTMLCommon tbody tr:nth-child(odd)``).
"""

from functools import cache
from importlib.resources import files

ROOT = ".neardup"

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1b1f",
    "quiet": "#595966",
    "line": "#dcdce3",
    "head": "#f2f2f6",
    "link": "#0b4fb3",
    "gone": "#fde3e1",
    "gone-ink": "#8c1310",
    "new": "#dcf3df",
    "new-ink": "#0d5a20",
    "c0": "#cfe4fb",
    "c1": "#fbe6b8",
    "c2": "#e6d8fa",
    "c3": "#c9efe9",
    "c4": "#fad7ea",
    "c5": "#e3ecc0",
    "accent": "#0b4fb3",
    "bar": "#3f6fb5",
    "below": "#8a8a97",
    "edge": "#75757f",
    "loss": "#b3501c",
}
DARK = {
    "paper": "#17171b",
    "ink": "#e9e9ee",
    "quiet": "#adadba",
    "line": "#393940",
    "head": "#24242a",
    "link": "#8ab8ff",
    "gone": "#4a1c1b",
    "gone-ink": "#ffb9b3",
    "new": "#153b1e",
    "new-ink": "#a6e8b2",
    "c0": "#1d3b5a",
    "c1": "#4d3d10",
    "c2": "#3d2c59",
    "c3": "#114540",
    "c4": "#54263f",
    "c5": "#3a4415",
    "accent": "#8ab8ff",
    "bar": "#7fa9e6",
    "below": "#84848f",
    "edge": "#8b8b96",
    "loss": "#f0935c",
}

TOKENS = {
    "fine": ".75rem",
    "small": ".875rem",
    "text": "1rem",
    "large": "1.125rem",
    "title": "1.5rem",
    "strong": "600",
    "measure": "70ch",
    "gap": ".5rem",
    "part": "1.5rem",
    "round": ".25rem",
    "focus": "3px",
}
"""Sizes of type, the second weight, the longest line of prose, the space between things and before
parts, corners, and the focus."""

READ_ON = {
    "ink": ("paper", "head", "gone", "new", "c0", "c1", "c2", "c3", "c4", "c5"),
    "quiet": ("paper", "head"),
    "link": ("paper", "head"),
    "gone-ink": ("gone", "paper"),
    "new-ink": ("new", "paper"),
}
"""The colours of words, each with the colours that may be behind it."""
LEAST_CONTRAST, LEAST_OF_SHAPES = 4.5, 3.0
"""The contrast of words, and of lines and shapes that say something (WCAG 2.2, 1.4.3 and 1.4.11)."""

_OF_THEME = {
    "paper": ("--jp-layout-color0", "--vscode-editor-background"),
    "ink": ("--jp-content-font-color1", "--vscode-editor-foreground"),
}
"""The variables in which notebooks have their colours. Other colours of theirs are too pale to read."""

_DARK_THEMES = (
    '[data-jp-theme-light="false"]',
    ".vscode-dark",
    ".vscode-high-contrast:not(.vscode-high-contrast-light)",
    '[data-theme="dark"]',
    'html[theme="dark"]',
)
"""What marks a dark theme in JupyterLab and nbconvert, VS Code (twice), documentation pages, and Colab."""

_UNDONE = (
    "h1,h2,h3,h4,h5,p,a,dl,dt,dd,ol,ul,li,table,caption,colgroup,col,thead,tbody,tr,th,td,pre,code,q,b,strong,bdi,"
    "span,div,section,nav,figure,figcaption,details,summary,del,ins,mark"
)
"""The elements that get back the style of the browser. Not those of SVG, whose attributes would be undone, too."""

_IN_NOTEBOOKS = f"""
{ROOT} {{ all: initial; display: block; }}
{ROOT} :is({_UNDONE}) {{ all: revert; }}
"""
_FONT = "var(--jp-content-font-family, var(--vscode-font-family, system-ui)), sans-serif"
_SIZES = f"{ROOT} {{ font: 14px/1.5 {_FONT}; padding: 4px; }} {ROOT} table {{ font-size: inherit; }}"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (#rrggbb), from 1 to 21, by the formula of WCAG 2.2.

    >>> round(contrast("#ffffff", "#000000"), 1), round(contrast("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@cache
def base() -> str:
    """Return the rules that pages and notebooks share, without colours."""
    return files("neardup.display").joinpath("base.css").read_text(encoding="utf-8")


@cache
def page_style(more: str = "") -> str:
    """Return the style sheet of a page: light or dark as the system is; ``more`` are rules of its own."""
    dark = _block(ROOT, _declarations(DARK))
    light = _block(ROOT, f"color-scheme: light dark; {_declarations(LIGHT)} {_declarations(TOKENS)}")
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n{base()}{more}"


@cache
def notebook_style(more: str = "") -> str:
    """Return the style sheet of an output in a notebook: light or dark as the notebook is.

    It neither depends on the rules of the page around, nor changes anything there.
    """
    light = _block(ROOT, f"color-scheme: light; {_declarations(LIGHT, themed=True)} {_declarations(TOKENS)}")
    dark = _block(
        f":is({', '.join(_DARK_THEMES)}) {ROOT}", f"color-scheme: dark; {_declarations(DARK, themed=True)}"
    )
    rules = "\n".join((light, dark, base(), more, _SIZES))
    # another output may come later, and undo again: our rules outweigh that
    return _IN_NOTEBOOKS.replace(ROOT, 3 * ROOT) + rules.replace(ROOT, 4 * ROOT)


def _declarations(colours: dict[str, str], *, themed: bool = False) -> str:
    return " ".join(
        f"--{name}: {_theme_variable(name, value) if themed else value};" for name, value in colours.items()
    )


def _theme_variable(name: str, value: str) -> str:
    for variable in reversed(_OF_THEME.get(name, ())):
        value = f"var({variable}, {value})"
    return value


def _block(selector: str, declared: str) -> str:
    return f"{selector} {{ {declared} }}"
