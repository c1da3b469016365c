"""Pages opened in a real headless browser: no complaint in its console, nothing asked of the network, nothing
wider than a phone. The pictures are kept in the folder that ``AHD_SCREENSHOTS`` names, else in pytest's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ahd.compare.folder import read_result
from ahd.report.make import make
from tests.display.stored_run import store_run
from tests.fakes import SMALL
from tests.report.browser import Browser, find
from tests.report.compared import comparison, store_comparison
from tests.report.pages import HOSTILE, Page

pytestmark = pytest.mark.slow

SIZES = {
    "desktop-light": (1280, 900, False),
    "phone-dark": (390, 844, True),
    "phone-light": (360, 780, False),
}
_BACKGROUND = "getComputedStyle(document.body).backgroundColor"
_BROKEN = "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height < 50).length"
_SMALLEST = (
    "Math.min(...[...document.querySelectorAll('svg text')]"
    ".map(t => [parseFloat(getComputedStyle(t).fontSize), t.getScreenCTM()])"
    ".map(([size, m]) => size * Math.hypot(m.c, m.d)))"
)
_STRANGE = (
    "document.querySelectorAll('img, script, iframe').length + (typeof window.pwned === 'undefined' ? 0 : 1)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = find()
    if path is None:
        pytest.skip("no Chromium found: `apt-get install chromium`, or name one in AHD_BROWSER")
    with Browser(path, tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


@pytest.fixture(params=["run", "hostile", "comparison"])
def page(request: pytest.FixtureRequest, run: Path, tmp_path: Path) -> tuple[str, Path]:
    """Name and page of a scripted run, of one whose texts are markup, and of a comparison."""
    out = tmp_path / "page.html"
    match request.param:
        case "run":
            make(run, out)
        case "hostile":
            attack = HOSTILE.replace("alert(", "window.pwned=(")
            make(store_run(tmp_path / "run", attack), out)
        case "comparison":
            make(store_comparison(tmp_path / "comparison", comparison()), out)
    return request.param, out


def test_a_page_opens_without_complaint(browser: Browser, page: tuple[str, Path], tmp_path: Path) -> None:
    """In light and dark, on a desktop and on phones: zero console messages and errors, no request but the
    page itself, no sideways scrolling, every figure drawn with legible text, nothing hostile run."""
    name, path = page
    pictures = Path(os.environ.get("AHD_SCREENSHOTS") or tmp_path)
    backgrounds = {}
    for size, (width, height, dark) in SIZES.items():
        picture = pictures / f"report-{name}-{size}.png"
        asked = (_BACKGROUND, _BROKEN, _SMALLEST, _STRANGE)
        visit = browser.visit(path, width, height, dark, picture, *asked)
        background, broken, smallest, strange = visit.values
        assert visit.complaints == []
        assert visit.requests == [path.as_uri()]
        assert visit.overflow <= 0
        assert (broken, strange) == (0, 0)
        assert smallest >= 8.5
        assert picture.stat().st_size > 10_000
        backgrounds[dark] = background
    assert backgrounds[True] != backgrounds[False]


def test_compare_ends_with_its_page(browser: Browser, tmp_path: Path) -> None:
    """2 problems x 2 arms x 2 seeds of the scripted model: the command says where the page is, and the page
    has both settings and every figure, and opens without a console message or a request."""
    out = tmp_path / "comparison"
    plan = [*SMALL, "admissible-set", "--methods", "esopt,eoh", "--seeds", "2", "--budget", "10"]
    found = subprocess.run(
        [sys.executable, "-m", "ahd", "compare", *plan, "--model", "scripted", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr
    path = out / "report.html"
    assert found.stdout.splitlines()[-1] == f"page: {path}"
    page = Page(path.read_text(encoding="utf-8"))
    assert not page.faults
    settings = read_result(out).settings
    told_apart = sum(not each.identical for setting in settings for each in setting.differences)
    assert page.tags.count("svg") == 4 * len(settings) + told_apart
    for word in ("over 2 settings", "Figures: small-tsp", "Figures: admissible-set", "esopt - eoh"):
        assert word in page.words
    pictures = Path(os.environ.get("AHD_SCREENSHOTS") or tmp_path)
    for size, (width, height, dark) in SIZES.items():
        picture = pictures / f"compare-{size}.png"
        visit = browser.visit(path, width, height, dark, picture, _BROKEN, _SMALLEST)
        assert visit.complaints == []
        assert visit.requests == [path.as_uri()]
        assert visit.overflow <= 0
        assert visit.values[0] == 0
        assert visit.values[1] >= 8.5


def test_the_console_is_listened_to(browser: Browser, tmp_path: Path) -> None:
    """The check above would fail: a page with an error, a warning and a blocked image has complaints."""
    policy = "<meta http-equiv='Content-Security-Policy' content=\"img-src 'none'\">"
    script = "<script>console.warn('w'); undefined_name()</script>"
    path = tmp_path / "bad.html"
    path.write_text(f"<!DOCTYPE html>{policy}<title>bad</title><img src='https://192.0.2.1/x.png'>{script}")
    visit = browser.visit(path, 800, 600, False, tmp_path / "bad.png")
    told = " ".join(visit.complaints)
    for word in ("warn", "undefined_name", "Content Security Policy"):
        assert word in told
