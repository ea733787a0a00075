"""Presentations (PPTX): the text of every slide, its notes and its comments, in the order of the slides."""

from collections.abc import Iterable, Mapping

from neardup.io.formats import content as contents
from neardup.io.formats.drawings import Shapes
from neardup.io.formats.package import Handlers, Package, People, Text, read_package

_HIDDEN = ("0", "false")
_COMMENTS = {"p:cm", "p188:cm", "p188:reply"}


def read_pptx(data: bytes) -> contents.Content:
    """Return the slides of a presentation in order: titles, texts, tables, charts, notes, comments.

    The text of layouts and masters that slides show, such as the name of a company, comes last, once. Metadata:
    title, author, date. Raises InputError for data that is not a PPTX file, is damaged, protected or unpacks to
    more than the limit.
    """
    return read_package(data, "PPTX", _read)


def _read(package: Package) -> contents.Content:
    """Read the slides in their order, then the layouts below them."""
    main = package.main_part()
    order = _Order(package)
    package.parse(main, order)
    package.leave_unread(main)
    people = People()
    for name in package.related_parts(main, "commentAuthors", "authors"):
        package.parse(name, people)
    relations = package.relations(main)
    text, below = Text(), dict[str, None]()
    for id in order.slides:
        if id in relations and not relations[id].is_external:
            below |= dict.fromkeys(_read_slide(package, relations[id].target, text, people.names))
    for name in below:
        package.parse(name, _Slide(package, name, text, is_below=True))
        package.leave_unread(name)
    return package.content(str(text))


def _read_slide(package: Package, name: str, text: Text, people: Mapping[str, str]) -> Iterable[str]:
    """Write a slide, and return the layouts and masters below it."""
    slide = Text()
    reader = _Slide(package, name, slide)
    package.parse(name, reader)
    package.leave_unread(name)
    for part in package.related_parts(name, "notesSlide"):
        notes = Text()
        package.parse(part, _Slide(package, part, notes))
        package.leave_unread(part)
        slide.line(f"Notes: {notes}" if str(notes) else "")
    for part in package.related_parts(name, "comments"):
        package.parse(part, _Comments(package, part, slide, people))
    if body := str(slide):
        text.add(f"(hidden slide)\n{body}\n\n" if reader.is_hidden else f"{body}\n\n")
    for layout in package.related_parts(name, "slideLayout"):
        yield layout
        yield from package.related_parts(layout, "slideMaster")


class _Order(Handlers):
    """The slides of a presentation, as their relations."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.slides: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "p:sldId":
            self.slides.append(self._package.attribute(attributes, "r:id"))


class _Slide(Shapes):
    """The shapes of a slide, or of the notes, the layout or the master of one.

    ``is_below``: a layout or master, whose placeholders slides fill, and do not show.
    """

    def __init__(self, package: Package, part: str, text: Text, is_below: bool = False) -> None:
        super().__init__(package, part, text)
        self.is_hidden = False
        self._is_below = is_below
        self._is_placeholder = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        if tag == "p:sld":
            self.is_hidden = attributes.get("show") in _HIDDEN
        elif tag in ("p:sp", "p:graphicFrame", "p:pic"):
            self._is_placeholder = False
        elif tag == "p:ph":
            self._is_placeholder = True
        elif tag == "p:txBody" and self._is_below and self._is_placeholder:
            return True
        return super().start(tag, attributes)


class _Comments(Shapes):
    """The comments on a slide with their authors, each before its replies, which files have before its text."""

    def __init__(self, package: Package, part: str, text: Text, people: Mapping[str, str]) -> None:
        super().__init__(package, part, text)
        self._people = people
        self._written = text
        self._comments: list[tuple[str, Text]] = []  # the open comment, and its open reply
        self._replies: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> bool | None:
        """Handle the start of an element; the older form has its text in ``p:text``."""
        if tag in _COMMENTS:
            self.text = Text()
            self._comments.append((self._people.get(attributes.get("authorId", ""), "").strip(), self.text))
        elif tag == "p:text":
            self._open = tag
        return super().start(tag, attributes)

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag not in _COMMENTS:
            return
        author, text = self._comments.pop()
        line = f"Comment, {author}: {text}" if author else f"Comment: {text}"
        if self._comments:
            self.text = self._comments[-1][1]
            self._replies.append(line)
            return
        for one in (line, *self._replies):
            self._written.line(one)
        self._replies = []
