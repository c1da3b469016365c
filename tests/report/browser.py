"""A headless Chromium, driven through the two pipes of its own debugging protocol: no package is needed."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT = 60.0
"""Seconds for one answer."""
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """The browser's path: ``AHD_BROWSER``, else the first of ``NAMES`` there is."""
    named = os.environ.get("AHD_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """What a page did when it was opened."""

    complaints: list[str] = field(default_factory=list)
    """Console messages of every level, exceptions, and the browser's own log: errors, blocked resources."""
    requests: list[str] = field(default_factory=list)
    """Addresses asked for, the page's own among them."""
    overflow: int = 0
    """Pixels that the page is wider than the window."""
    values: list[Any] = field(default_factory=list)
    """Answers to the expressions asked."""


class Browser:
    """One browser with one page; a context manager."""

    def __init__(self, path: str, profile: Path) -> None:
        self._path, self._profile = path, profile
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> "Browser":
        commands, self._out = _high_pipe()
        self._in, answers = _high_pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        options += ["--no-first-run", "--disable-background-networking", "--hide-scrollbars"]
        options += ["--disable-dev-shm-usage", f"--user-data-dir={self._profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(commands), str(answers), self._path, *options],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            self._call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def visit(
        self, page: Path, width: int, height: int, dark: bool, picture: Path, *expressions: str
    ) -> Visit:
        """Open ``page`` in a window of CSS pixels (a phone's below 600), take a picture of all of it, and ask
        it ``expressions``, JavaScript that the page's own policy does not bind."""
        phone = width < 600
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        size = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=page.absolute().as_uri())
        self._until("Page.loadEventFired")
        wide, tall = (
            self._ask("document.documentElement.scrollWidth"),
            self._ask("document.documentElement.scrollHeight"),
        )
        clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(base64.b64decode(shot["data"]))
        visit = Visit(overflow=wide - width, values=[self._ask(each) for each in expressions])
        for event in self._events:
            told = event.get("params", {})
            if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                visit.complaints.append(json.dumps(told)[:2000])
            elif event["method"] == "Network.requestWillBeSent":
                visit.requests.append(told["request"]["url"])
        return visit

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command to the page."""
        return self._call(method, self._session, **parameters)

    def _ask(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def _call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            if "method" in answer:
                self._events.append(answer)
        raise EOFError

    def _until(self, method: str) -> None:
        if any(event["method"] == method for event in self._events):
            return
        for message in self._messages():
            if "method" in message:
                self._events.append(message)
            if message.get("method") == method:
                return

    def _messages(self) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + WAIT
        while True:
            while b"\0" in self._buffer:
                text, _, self._buffer = self._buffer.partition(b"\0")
                yield json.loads(text)
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser said nothing for {WAIT:.0f} s")
            more = os.read(self._in, 1 << 20)
            if not more:
                raise EOFError("the browser ended")
            self._buffer += more


def _high_pipe() -> tuple[int, int]:
    """Both ends of a pipe, with numbers above those that the browser expects."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
