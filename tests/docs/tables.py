"""The tables of a document, as rows of cells."""

from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]


def tables(page: str) -> list[list[list[str]]]:
    """Each table of a page of the repository: its rows, the head first, with the Markdown of each cell."""
    found: list[list[list[str]]] = []
    before = ""
    for token in MarkdownIt().enable("table").parse((ROOT / page).read_text()):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif before in ("th_open", "td_open"):
            found[-1][-1].append(token.content)
        before = token.type
    return found


def table(page: str, *head: str) -> list[list[str]]:
    """The rows, without the head, of the one table whose head begins with these cells.

    Raises:
        ValueError: there is no such table, or there are several.
    """
    (rows,) = (each[1:] for each in tables(page) if each[0][: len(head)] == list(head))
    return rows
