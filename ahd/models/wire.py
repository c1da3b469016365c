"""JSON over HTTP to a vLLM server."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from operators.model import ModelError

_PATIENCE = 3600
"""Longest that one answer may take, in seconds."""


class ServerFailed(ModelError):
    """There is no answer, or a refusal. ``reason`` says why in one line; ``status`` is that of HTTP, 0
    where the server said nothing."""

    def __init__(self, url: str, reason: str, status: int = 0) -> None:
        super().__init__(f"the server at {url} failed ({reason}): start it again, then resume the run")
        self.reason = reason
        self.status = status


class Wire:
    """One server. Never goes through a proxy. Safe for use from several threads."""

    def __init__(self, url: str) -> None:
        self.url = (url if "://" in url else f"http://{url}").rstrip("/").removesuffix("/v1")
        self._opener = build_opener(ProxyHandler({}))

    def call(self, path: str, body: Mapping[str, Any] | None = None, request_id: str = "") -> Any:
        """The answer to a POST of ``body``, or to a GET where there is none.

        Raises:
            ServerFailed: the server refused, did not answer, or not in JSON.
        """
        headers = {"Content-Type": "application/json"} | ({"X-Request-Id": request_id} if request_id else {})
        data = None if body is None else json.dumps(body).encode()
        try:
            with self._opener.open(Request(self.url + path, data, headers), timeout=_PATIENCE) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            with error:
                reason = f"it has no {path}" if error.code == 404 else _reason(error.read())
            raise ServerFailed(self.url, reason, error.code) from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            cause = error.reason if isinstance(error, URLError) else error
            reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            raise ServerFailed(self.url, f"no answer: {reason}") from None

    def rpc(self, method: str, *args: float | str) -> Any:
        """What the first worker's ``method`` returns. Lists and dictionaries come as they are, everything
        else as text.

        Raises:
            ServerFailed: as for ``call``, or the method failed.
        """
        return self.call("/collective_rpc", {"method": method, "args": args})["results"][0]


def _reason(body: bytes) -> str:
    """Why the server refused, in one line of at most 300 characters, without what vLLM wraps it in."""
    try:
        text = str(json.loads(body)["error"]["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        text = body.decode(errors="replace")
    text = text.partition("method failed: ")[2] or text
    text = text.removeprefix("Worker failed with error '").partition("', please check the stack trace")[0]
    return " ".join(text.split())[:300] or "no reason given"
