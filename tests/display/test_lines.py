"""The plain and JSON displays, and the choice among displays."""

import io
import json
import sys
from dataclasses import replace

import pytest

from ahd.config import ConfigError
from ahd.display.choose import choose
from ahd.display.dashboard import RichDisplay
from ahd.display.jsonl import JsonDisplay
from ahd.display.plain import PlainDisplay
from ahd.events import Note, Proposed, Updated
from tests.display.synthetic_run import HOSTILE, ROLLED_BACK, synthetic


def _plain(**options: object) -> str:
    out, now = io.StringIO(), 0.0
    with PlainDisplay(out, lambda: now) as display:
        for now, event in synthetic(**options):  # type: ignore[arg-type]  # noqa: B007
            display.show(event)
    return out.getvalue()


def test_plain_has_no_control_codes() -> None:
    """Hostile text leaves only printable lines."""
    text = _plain(proposals=120, hostile=HOSTILE, finish="interrupted")
    assert all(line.isprintable() for line in text.split("\n"))
    assert "[bold red]boo" in text


def test_plain_tells_the_story() -> None:
    """Loading, schedule, improvements, pace, updates, notes and the closing figures all have lines."""
    text = _plain(proposals=500, finish="done")
    for part in (
        "loading SmolLM2-135M-Instruct: 12.4 s",
        "schedule: 20 generations",
        "reference: 5.70400",
        "better: ",
        "tokens/s",
        "left",
        "update 35: sigma",
        "note: the initial population",
        f"note: {ROLLED_BACK}",
        "1 of them rolled back",
        "best, test",
        "+12.81%",
        "470 of 500",
        "best.py",
    ):
        assert part in text, part
    assert "update 5: sigma" not in text
    assert "ahd resume" not in text
    assert "ahd resume" in _plain(proposals=90, finish="interrupted")
    assert "ahd resume" in _plain(proposals=90)


def test_a_resumed_run_tells_its_own_time_and_no_note_twice() -> None:
    """Progress lines say that their time is since resuming; the note of an initial population that was read
    back is not told again, later notes are. A watcher has the time of the whole run, and every note."""

    def told(watching: bool) -> str:
        out, now = io.StringIO(), 0.0
        with PlainDisplay(out, lambda: now, watching) as display:
            for now, event in synthetic(100):  # noqa: B007
                initial = isinstance(event, Proposed) and event.phase == "init"
                display.show(replace(event, replayed=True) if initial else event)
                if initial and event.init_spent == 30:
                    display.show(Note("30 of 30"))
        return out.getvalue()

    resumed, watched = told(watching=False), told(watching=True)
    assert "since resuming, " in resumed
    assert " gone" not in resumed
    assert "30 of 30" not in resumed
    assert "note: the initial population took 30" in resumed
    assert " gone, " in watched
    assert "note: 30 of 30" in watched


def test_plain_survives_a_narrow_encoding() -> None:
    """Characters that standard output cannot encode are replaced, not raised."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    with PlainDisplay(out, lambda: 0.0) as display:
        for _, event in synthetic(20, hostile="\u4e2d\u6587"):
            display.show(event)
    assert raw.getvalue().isascii()


def test_json_lines_parse_and_match_the_events() -> None:
    """One object per event, named after it, with its fields; non-finite numbers become null."""
    out = io.StringIO()
    events = [event for _, event in synthetic(60, hostile=HOSTILE, finish="done")]
    events.append(Updated(1, 1e-3, float("nan"), 0.0, float("inf"), 0.1, "aa", 1.0))
    with JsonDisplay(out, lambda: 1.0) as display:
        for event in events:
            display.show(event)
    lines = out.getvalue().splitlines()
    assert out.getvalue().isascii()
    assert len(lines) == len(events)
    for line, event in zip(lines, events, strict=True):
        data = json.loads(line)
        assert data.pop("event") == type(event).__name__.lower()
        assert data.pop("time") == 1.0
        assert set(data) == set(vars(event))
    assert json.loads(lines[-1])["norm"] is None


def test_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Auto is plain when piped, in CI or on a dumb terminal, and the dashboard otherwise."""
    assert isinstance(choose("json").display, JsonDisplay)
    assert isinstance(choose("rich").display, RichDisplay)

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert isinstance(choose("auto").display, PlainDisplay)
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("CI", raising=False)
    assert isinstance(choose("auto").display, RichDisplay)
    monkeypatch.setenv("CI", "true")
    assert isinstance(choose("auto").display, PlainDisplay)
    monkeypatch.delenv("CI")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose("auto").display, PlainDisplay)
    with pytest.raises(ConfigError, match="--display"):
        choose("fancy")
