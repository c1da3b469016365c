"""Python and differences as HTML: text from candidates is escaped here, or by the template."""

from collections.abc import Sequence

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from ahd.display.text import clean_block

LONGEST = 40_000
"""Characters from which code is shown without colours."""
_KINDS = {"@": "hunk", "+": "added", "-": "removed"}


def highlighted(code: str) -> Markup:
    """``code`` as spans with the classes of Pygments; control and bidirectional characters are left out."""
    text = clean_block(code).strip("\n")
    if len(text) > LONGEST:
        return escape(text)
    return Markup(highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n"))


def diff_lines(lines: Sequence[str]) -> Markup:
    """A unified difference, one span per line; its sign stays, so that colour is not all that tells."""
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(_KINDS.get(line[:1], "same"), line or " ")
        for line in lines
    )
