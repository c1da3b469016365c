"""The dashboard at several sizes, with friendly and hostile events."""

import io
import threading
import time

import pytest
from rich.cells import cell_len
from rich.console import Console

from ahd.config import Method
from ahd.display.dashboard import Dashboard, RichDisplay, final_screen
from ahd.display.layout import NARROW_BANDS, WIDE_BANDS, allot
from ahd.display.progress import Progress
from tests.display.synthetic_run import HOSTILE, synthetic


def _lines(width: int, height: int, styled: bool = False, **options: object) -> list[str]:
    progress, now = Progress(), 0.0
    for now, event in synthetic(**options):  # type: ignore[arg-type]
        progress.add(event, now)
    out = io.StringIO()
    console = Console(
        width=width,
        height=height,
        file=out,
        force_terminal=styled,
        color_system="truecolor" if styled else None,
        _environ={},
    )
    console.print(
        final_screen(progress, now)
        if progress.finished
        else Dashboard(progress, lambda: now, threading.RLock())
    )
    return out.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [24, 60, 72, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("height", [3, 8, 12, 24, 36, 60])
@pytest.mark.parametrize("count", [0, 7, 400])
def test_fits_every_terminal(width: int, height: int, count: int) -> None:
    """No line is wider than the console and there are never more lines than it has."""
    lines = _lines(width, height, proposals=count, hostile=HOSTILE)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= height


@pytest.mark.parametrize(("width", "height"), [(80, 41), (100, 36), (120, 36)])
def test_shows_every_panel(width: int, height: int) -> None:
    """With enough room everything asked for is on the screen."""
    text = "\n".join(_lines(width, height, proposals=300))
    for part in (
        "tsp",
        "esopt",
        "SmolLM2-135M",
        "seed 1",
        "results/tsp-esopt",
        "270/500",
        "left",
        "over the reference",
        "better than",
        "nearest neighbour",
        "Population",
        "np.where(",
        "Operators",
        "valid",
        "dupl.",
        "Outcomes",
        "runtime error",
        "updates",
        "sigma",
        "reward",
        "spread",
        "norm",
        "moved",
        "1 rolled back",
        "tokens/s",
        "evaluations/s",
        "model",
        "ES",
        "Latest",
    ):
        assert part in text, part


def test_small_terminal_keeps_what_matters() -> None:
    """At 80 x 24 the budget, the best, the population, the operators, the ES and the rates are shown."""
    text = "\n".join(_lines(80, 24, proposals=300))
    for part in ("270/500", "over the reference", "Population", "Operators", "sigma", "tokens/s"):
        assert part in text, part


@pytest.mark.parametrize("width", [80, 120])
def test_hostile_text_is_inert(width: int) -> None:
    """Markup in names, notes and code is printed as it stands; control characters vanish."""
    for finish in ("", "interrupted"):
        text = "\n".join(_lines(width, 60, styled=True, proposals=100, hostile=HOSTILE, finish=finish))
        assert "\x07" not in text
        assert "\x1b]" not in text
        assert "\u202e" not in text
        assert "\x00" not in text
        assert "boo" in text
        assert "[bold red]" in text


def test_frozen_methods_say_so() -> None:
    """Without learning the ES panel states that the weights stay."""
    assert "frozen" in "\n".join(_lines(120, 36, method=Method.EOH))
    assert "nothing is learnt" in "\n".join(_lines(120, 36, method=Method.NOISE))


def test_final_screen_has_the_closing_figures() -> None:
    """Train and test objectives with gaps, updates, spend, validity, times and the file are all there."""
    text = "\n".join(_lines(100, 30, proposals=500, finish="done"))
    for part in (
        "best, train",
        "best, test",
        "6.40200",
        "+12.81%",
        "1000 instances of size 50",
        "470 of 500",
        "valid",
        "35 of 38",
        "wall time",
        "312 tokens/s",
        "of the work; ES ",
        "best.py",
    ):
        assert part in text, part
    assert "ahd resume" not in text
    assert "ahd resume results/" in "\n".join(_lines(100, 30, proposals=90, finish="interrupted"))


@pytest.mark.parametrize("bands", [WIDE_BANDS, NARROW_BANDS])
def test_bands_use_the_room_there_is(bands: tuple) -> None:  # type: ignore[type-arg]
    """Heights never exceed the terminal, each band stays in its bounds, and no line is wasted."""
    for height in range(4, 80):
        lines = allot(bands, height)
        assert sum(lines.values()) <= height
        for band in bands:
            assert band.name not in lines or band.least <= lines[band.name] <= band.full
        full = all(lines[band.name] == band.full for band in bands if band.name in lines)
        assert full or sum(lines.values()) == height


def test_live_display_draws_and_leaves_the_final_screen() -> None:
    """On a terminal it uses the alternate screen, restores it, and the closing figures stay behind."""
    out = io.StringIO()
    console = Console(width=100, height=30, file=out, force_terminal=True, _environ={"TERM": "xterm"})
    with RichDisplay(console) as display:
        for _, event in synthetic(60, finish="done"):
            display.show(event)
        time.sleep(0.6)
    text = out.getvalue()
    assert "\x1b[?1049h" in text
    assert "\x1b[?1049l" in text
    assert "\x1b[?25h" in text
    assert "Population" in text.split("\x1b[?1049l")[0]
    assert "best, train" in text.split("\x1b[?1049l")[1]


def test_survives_an_error_in_the_run() -> None:
    """An exception inside leaves the terminal restored and says how to go on."""
    out = io.StringIO()
    console = Console(width=100, height=30, file=out, force_terminal=True, _environ={"TERM": "xterm"})

    def fail() -> None:
        with RichDisplay(console) as display:
            for _, event in synthetic(60):
                display.show(event)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "\x1b[?1049l" in out.getvalue()
    assert "ahd resume" in out.getvalue()


def test_interrupt_while_loading() -> None:
    """A run stopped before it started has no figures, but a way to go on."""
    events = [event for _, event in synthetic(0, finish="interrupted")]
    out = io.StringIO()
    with RichDisplay(Console(width=80, file=out)) as display:
        display.show(events[0])
        display.show(events[-1])
    assert "ahd resume" in out.getvalue()
