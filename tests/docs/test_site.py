"""The documentation site builds, is complete, and needs nothing but itself."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import typer.main

from ahd.cli import app
from tests.docs.commands import commands
from tests.docs.tables import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make docs`` builds it: every warning is an error, such as a page that no table of
    contents has, a link to nowhere, or a formula that cannot be read."""
    folder = tmp_path_factory.mktemp("site")
    told = re.search(
        r"^docs:.*\n\t\$\(bin\)/python -m (sphinx .*) docs ", (ROOT / "Makefile").read_text(), re.M
    )
    assert told
    command = [sys.executable, "-m", *told[1].split(), "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def words(page: Path) -> str:
    """What a reader sees of a page, without its frame."""
    article = page.read_text().partition("<article")[2].partition("</article>")[0]
    return unescape(re.sub(r"<[^>]*>", "", article))


def test_every_command_and_option_is_told(site: Path) -> None:
    """The page of commands has a part for each command, and in it each option and argument with its help."""
    text = words(site / "commands.html")
    known = commands(typer.main.get_command(app))
    assert len(known) > 15
    for path, command in known:
        part = re.search(rf"\$ {path} .*?(?=\n\$ ahd |\Z)", text, re.DOTALL)
        assert part, path
        for parameter in command.params:
            for name in parameter.opts if parameter.param_type_name == "option" else []:
                assert re.search(rf"(?m)^{name}\b", part[0]), f"{path} {name}"
            assert parameter.help, f"{path} {parameter.name}"
            assert " ".join(parameter.help.replace("`", "").split()) in " ".join(part[0].split()), path


def test_the_site_needs_no_network(site: Path) -> None:
    """No page loads a script, a style, a picture or a font from elsewhere."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"([^\"]*)\"", page.read_text())
        assert loaded
        assert [each for each in loaded if re.match(r"(https?:)?//", each)] == [], page
    styles = "".join(style.read_text() for style in site.rglob("*.css"))
    assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", styles)


def test_formulas_need_no_script(site: Path) -> None:
    """Every formula of the sources is MathML in its page, and none is left as it was written."""
    for name in ("concepts", "method", "comparing"):
        source = re.sub(r"```.*?```", "", (ROOT / f"docs/{name}.md").read_text(), flags=re.DOTALL)
        formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+\$", source, re.DOTALL)
        page = (site / f"{name}.html").read_text()
        assert page.count("<math ") == page.count("</math>") == len(formulas) > 5
        assert "$" not in words(site / f"{name}.html")


def test_links_between_pages_lead_somewhere(site: Path) -> None:
    """Every link to a page or a file of the site is to one that is there, and to a place that it has."""
    for page in site.glob("*.html"):
        for target in re.findall(r"<a\b[^>]*?href=\"([^\"#:]*(?:#[^\"]*)?)\"", page.read_text()):
            file, _, place = target.partition("#")
            other = (page.parent / file) if file else page
            assert other.exists(), f"{page.name}: {target}"
            if place and other.suffix == ".html":
                assert f'id="{place}"' in other.read_text(), f"{page.name}: {target}"
