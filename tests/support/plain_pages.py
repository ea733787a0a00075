"""Pages read again: nothing of a document is markup, nothing is fetched, every link leads somewhere."""

from html.parser import HTMLParser

HOSTILE = '<script>alert(1)</script>\u202e"\x1b[2J\ud800\n<img src=x onerror=y>'


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def require_plain(page: str) -> Elements:
    """Nothing of the documents is markup, no character is unseen, and nothing is fetched or run."""
    found = Elements(page)
    assert not {tag for tag, _ in found.elements} & {"script", "img", "iframe", "object", "form"}
    names = {name for _, attributes in found.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert not set(page) & {"\u202e", "\x1b", "\ud800"}
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in found.elements if tag == "a" and "href" in attributes}
    assert {link[1:] for link in links if link and link.startswith("#")} <= set(ids)
    return found
