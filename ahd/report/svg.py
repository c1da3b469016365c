"""Figures as SVG inside a page, and as files."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import Markup

from ahd.report.drawing import Chart, style
from ahd.report.files import replaced
from ahd.report.palette import COLOURS

_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_VARIABLES = {each.light: f"var(--c-{each.name})" for each in COLOURS}
_COLOUR = re.compile("|".join(_VARIABLES))
_FONT = re.compile(r"font: (?:\w+ )*([\d.]+px)[^;]*")
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def inline(chart: Chart) -> Markup:
    """The figure as an ``<svg>`` element for a page: colours are the page's variables, so that it follows
    light and dark; ids are unique to the chart; text takes the page's font."""
    with style():
        buffer = io.BytesIO()
        chart.figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}style" or not child.tag.startswith(_SVG):
                parent.remove(child)
    for child in list(root):
        if child.tag == f"{_SVG}metadata":
            root.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        attributes = {name: _ours(name, value, chart.name) for name, value in element.attrib.items()}
        if target := attributes.pop(_XLINK, None):
            attributes["href"] = target
        element.attrib.clear()
        element.attrib.update(attributes)
    for name in ("width", "height", "version", "id"):
        root.attrib.pop(name, None)
    _describe(root, chart)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _ours(name: str, value: str, chart: str) -> str:
    if name == "id":
        return f"{chart}-{value}"
    value = value.replace("url(#", f"url(#{chart}-")
    if name == _XLINK:
        return value.replace("#", f"#{chart}-", 1)
    return _FONT.sub(r"font-size: \1", _COLOUR.sub(lambda found: _VARIABLES[found[0]], value))


def _describe(root: ElementTree.Element, chart: Chart) -> None:
    title, text = ElementTree.Element("title"), ElementTree.Element("desc")
    title.text, text.text = chart.title, chart.caption
    title.set("id", f"{chart.name}-title")
    text.set("id", f"{chart.name}-desc")
    root.insert(0, title)
    root.insert(1, text)
    root.set("role", "img")
    root.set("aria-labelledby", f"{chart.name}-title {chart.name}-desc")


def export(charts: list[Chart], folder: Path) -> list[Path]:
    """Write every figure to ``folder`` as ``NAME.svg`` and ``NAME.png``, for light paper.

    Raises:
        ConfigError: the folder cannot be made or written.
    """
    paths = []
    for chart in charts:
        for kind in ("svg", "png"):
            path = folder / f"{chart.name}.{kind}"
            buffer = io.BytesIO()
            with style():
                # PNG metadata has no keys in common with SVG's.
                metadata = _NO_METADATA if kind == "svg" else {"Software": None}
                chart.figure.savefig(buffer, format=kind, dpi=220, facecolor="white", metadata=metadata)
            replaced(path, buffer.getvalue(), "--figures")
            paths.append(path)
    return paths
