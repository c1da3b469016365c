"""What every page has to be, whatever is on it: checks on its text."""

import re
from html.parser import HTMLParser

HOSTILE = (
    "</script></title></style></svg></pre><img src=x onerror=alert(1)><script>alert(2)</script>"
    "\"' onload=alert(3) &amp; $\\frac{ {{ 7*7 }} {% raw %} ]]> <!-- javascript:alert(4)"
)
_VOID = {"meta", "link", "br", "img", "input", "hr"}
_CODE = {"script", "iframe", "object", "embed", "base", "form", "img", "foreignobject", "image"}
_LOADING = {"src", "srcset", "href", "xlink:href", "action", "poster", "data", "background"}


class Page(HTMLParser):
    """Reads a page: ``faults`` are tags that do not close, elements that could run or load something, and ids
    that are there twice; ``words`` is its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.words = ""
        self.tags: list[str] = []
        self._open: list[str] = []
        self._ids: set[str] = set()
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self._open]
        if re.search(r"@import|expression\(|url\((?!#)", text):
            self.faults.append("a style that loads something")

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self._open.append(tag)
        if tag in _CODE:
            self.faults.append(f"<{tag}> at {self.getpos()}")
        for name, value in attributes:
            if name.startswith("on") or (name in _LOADING and not re.match(r"#|data:,$", value or "")):
                self.faults.append(f"{name}={value} at {self.getpos()}")
            if name == "id" and value is not None:
                if value in self._ids:
                    self.faults.append(f"id {value} is there twice")
                self._ids.add(value)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data: str) -> None:
        self.words += data
