"""A model on a vLLM server: the same replies and hashes as in this process, and failures in one line.

The fast tests talk to a stand-in that answers as vLLM 0.32 does; the live ones to a real server, started by
the command in docs/scaling.md.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ahd.config import ConfigError, Kind
from ahd.es.perturbation import Perturbation
from ahd.models.server import ServerModel
from operators.grammar import reply_grammar
from operators.model import Direction, ModelError, Reply, Request, UpdateRefused
from operators.skeleton import STOP
from problems.tsp import problem as tsp

PROMPT = "Write one line of Python that scores the next city of a tour. " * 12
"""Longer than one block of the prefix cache."""


def ask(seed: int = 1, tokens: int = 12, **kwargs: Any) -> Request:
    return Request(PROMPT, seed=seed, prefill="score =", max_tokens=tokens, **kwargs)


def generate(model: Any, requests: list[Request], directions: list[Direction | None]) -> list[Reply]:
    replies = dict(model.generate(requests, directions))
    return [replies[index] for index in range(len(requests))]


class StandIn:
    """A server without a model. ``answers`` maps a path, or a worker method, to what makes its answer:
    status and JSON. ``calls`` holds the worker methods that were called, with their arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.ids: list[str] = []
        self.answers: dict[str, Callable[[Any], tuple[int, Any]]] = {
            "/v1/models": lambda _: (200, {"data": [{"id": "models/tiny", "max_model_len": 64}]}),
            "/abort_requests": lambda _: (200, {"status": "aborted"}),
            "/reset_prefix_cache": lambda _: (200, {"success": True}),
            "/tokenize": self._tokenize,
            "/detokenize": lambda body: (200, {"prompt": "".join(map(chr, body["tokens"]))}),
            "/v1/completions": lambda _: completion("stop"),
            "/collective_rpc": self._rpc,
            "es_init": lambda _: worker(
                {"parameters": 64, "in_scope": 64, "dtype": "float32", "hash": "base"}
            ),
            "es_hash": lambda _: worker("base"),
        }
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, body: Any) -> None:
                if name := self.headers["X-Request-Id"]:
                    stand_in.ids.append(name)
                missing = (404, {"detail": "Not Found"})
                status, answer = stand_in.answers.get(self.path, lambda _: missing)(body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _rpc(self, body: Any) -> tuple[int, Any]:
        self.calls.append((body["method"], *body["args"]))
        return self.answers.get(body["method"], lambda _: worker(None))(body)

    def _tokenize(self, body: Any) -> tuple[int, Any]:
        chat = body.get("messages")
        text = f"[{chat[0]['content']}]" if chat else body["prompt"]
        return 200, {"tokens": [ord(c) for c in text]}


def worker(result: Any) -> tuple[int, Any]:
    return 200, {"results": [result]}


def failure(message: str, status: int = 500) -> tuple[int, Any]:
    return status, {"error": {"message": message, "code": status}}


def completion(finish: str) -> tuple[int, Any]:
    choice = {"text": "x", "finish_reason": finish}
    return 200, {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    yield server
    server.stop()


SMALL = Request("ab", seed=1, prefill="c", max_tokens=4)


def test_nothing_there_is_one_line() -> None:
    """An address where nothing listens is refused with the reason and the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ConfigError, match=rf"--server {url}: no answer: Connection refused: start it as"):
        ServerModel(url)


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        ("/v1/models", (404, {"detail": "Not Found"}), "it has no /v1/models"),
        ("/v1/models", (200, {"hello": "world"}), "not a vLLM server"),
        ("/abort_requests", (404, {"detail": "Not Found"}), "without VLLM_SERVER_DEV_MODE=1"),
        (
            "es_init",
            failure(
                "Call to collective_rpc method failed: Worker failed with error ''CPUWorker' object has no "
                "attribute 'es_init'', please check the stack trace above for the root cause"
            ),
            "without --worker-extension-cls ahd.models.worker.LiveWeights",
        ),
        ("es_init", failure("Method 'es_init' is not implemented.", 501), "without --worker-extension-cls"),
        (
            "es_init",
            failure("Call to collective_rpc method failed: --kind full --scope x touches no weight"),
            r": --kind full --scope x touches no weight: ",
        ),
    ],
)
def test_unfit_servers_are_refused(stand_in: StandIn, path: str, answer: Any, message: str) -> None:
    """A server that was not started for this is refused in one line that says what it lacks."""
    stand_in.answers[path] = lambda _: answer
    with pytest.raises(ConfigError, match=message) as caught:
        ServerModel(stand_in.url)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"--server {stand_in.url}: ")


def test_prompts_are_chats_where_there_is_a_template(stand_in: StandIn) -> None:
    """The template goes around the prompt and before the reply's given start; without one the prompt is
    plain text."""
    assert bytes(ServerModel(stand_in.url)._tokens(SMALL)) == b"[ab]c"
    tokenize = stand_in.answers["/tokenize"]
    stand_in.answers["/tokenize"] = lambda body: (
        failure("no chat template", 400) if "messages" in body else tokenize(body)
    )
    assert bytes(ServerModel(stand_in.url)._tokens(SMALL)) == b"ab\nc"
    with pytest.raises(ConfigError, match="leaves no room"):
        generate(ServerModel(stand_in.url), [Request("a" * 64, seed=1)], [None])


def test_a_grammar_goes_over_the_wire(stand_in: StandIn) -> None:
    """In the words of vLLM's completions, and only where there is one."""
    bodies: list[Any] = []
    stand_in.answers["/v1/completions"] = lambda body: bodies.append(body) or completion("stop")
    requests = [SMALL, replace(SMALL, grammar="start: /a/")]
    generate(ServerModel(stand_in.url), requests, [None, None])
    found = [body.get("structured_outputs") for body in bodies]
    assert sorted(found, key=str) == [None, {"grammar": "start: /a/"}]


def test_only_scalars_go_to_the_worker(stand_in: StandIn) -> None:
    """Full directions are applied one after the other and restored; batched ones get a slot each, which
    their requests name; every argument is a number or a string."""
    a, b = Direction(1, 0.5), Direction(2, -0.5)
    generate(ServerModel(stand_in.url), [SMALL] * 3, [a, None, b])
    assert stand_in.calls[2:] == [
        ("es_apply", 1, 0.5),
        ("es_restore",),
        ("es_apply", 2, -0.5),
        ("es_restore",),
    ]
    stand_in.calls.clear()
    stand_in.ids.clear()
    generate(ServerModel(stand_in.url, Perturbation(Kind.LOWRANK)), [SMALL] * 3, [a, None, b])
    assert stand_in.calls == [
        ("es_init", "lowrank", "all", 1),
        ("es_hash",),
        ("es_directions", "1,2", "0.5,-0.5"),
        ("es_directions", "", ""),
    ]
    assert sorted(re.findall(r"~(\d+)~", " ".join(stand_in.ids))) == ["0", "1", "2"]


def test_update_reports_and_refuses(stand_in: StandIn) -> None:
    """An update's report is the worker's; a refusal is ``UpdateRefused``."""
    model = ServerModel(stand_in.url)
    stand_in.answers["es_update"] = lambda _: worker({"norm": 2.0, "moved": 0.5, "hash": "next"})
    report = model.update([1, 2], [1, -0.5], 0.1)
    assert (report.norm, report.moved, report.weights_hash) == (2.0, 0.5, "next")
    assert stand_in.calls[-1] == ("es_update", "1,2", "1.0,-0.5", 0.1)
    stand_in.answers["es_hash"] = lambda _: worker("next")
    stand_in.answers["es_update"] = lambda _: worker({"refused": "too large"})
    with pytest.raises(UpdateRefused, match="too large"):
        model.update([1], [1.0], 1.0)


def test_a_client_that_lost_the_server_stops(stand_in: StandIn) -> None:
    """Other weights than one's own, or a reply that was ended early, mean that another client has
    attached: its weights are left alone."""
    model = ServerModel(stand_in.url)
    stand_in.answers["/v1/completions"] = lambda _: completion("abort")
    with pytest.raises(ModelError, match="another client has attached"):
        generate(model, [SMALL], [Direction(1, 0.5)])
    assert stand_in.calls[-1] == ("es_apply", 1, 0.5)
    stand_in.answers["es_hash"] = lambda _: worker("other")
    with pytest.raises(ModelError, match="another client has attached"):
        ServerModel(stand_in.url).weights_hash()


def test_a_server_that_dies_is_one_line(stand_in: StandIn) -> None:
    """A server that fails or goes away in the middle of a run is a ``ModelError`` that says what to do."""
    model = ServerModel(stand_in.url)
    stand_in.answers["/v1/completions"] = lambda _: failure("EngineCore encountered\nan issue.")
    with pytest.raises(ModelError, match=r"failed \(EngineCore encountered an issue\.\): start it again"):
        generate(model, [SMALL] * 3, [None] * 3)
    stand_in.stop()
    with pytest.raises(ModelError, match="start it again, then resume the run"):
        model.weights_hash()
    model.close()
    model.close()
    with pytest.raises(ModelError, match="closed"):
        generate(model, [SMALL], [None])


def documented_command() -> tuple[dict[str, str], list[str]]:
    """Environment and words of the CPU command in docs/scaling.md."""
    text = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
    block = next(each for each in re.findall(r"```sh\n(.*?)```", text, re.S) if "python -m vllm" in each)
    words = shlex.split(block.replace("\\\n", ""))
    first = words.index("python")
    return dict(word.split("=", 1) for word in words[:first]), [sys.executable, *words[first + 1 :]]


@pytest.fixture(scope="module")
def url(shallow: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server with the shallow model, ended with all its processes."""
    from ahd.models import runtime

    runtime.set_environment()
    environment, command = documented_command()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command += ["--model", str(shallow), "--port", str(port)]
    command += ["--max-model-len", "1024", "--dtype", runtime.number_format()]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield wait_for(f"http://127.0.0.1:{port}", process, log)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> str:
    from ahd.models.wire import ServerFailed, Wire

    for _ in range(600):
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            Wire(url).call("/v1/models")
        except ServerFailed:
            time.sleep(0.5)
        else:
            return url
    raise AssertionError(log.read_text()[-3000:])


def is_idle(model: ServerModel) -> bool:
    """Whether no request holds a part of the cache."""
    return bool(model._wire.call("/reset_prefix_cache", {})["success"])


@pytest.mark.live
@pytest.mark.slow
def test_replies_equal_those_of_this_process(live: Any, url: str) -> None:
    """Greedy and sampled, frozen and perturbed, free and under a grammar, the server writes what the engine
    in this process writes, and counts the same tokens."""
    model = ServerModel(url)
    assert (model.name, model.parameters) == (live.name, live.parameters)
    for request, direction in (
        (ask(temperature=0.0), None),
        (ask(3, stop=("\n", "=")), None),
        (ask(temperature=0.0), Direction(1, 0.02)),
        (ask(4), Direction(1, -0.02)),
        (ask(5, grammar=reply_grammar(tsp.skeleton, STOP, 24)), Direction(1, 0.02)),
    ):
        assert model._tokens(request) == live._tokens(request)
        there, here = (generate(each, [request], [direction])[0] for each in (model, live))
        assert (there.text, there.prompt_tokens) == (here.text, here.prompt_tokens)
        assert there.completion_tokens == here.completion_tokens


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("perturbation", [Perturbation(), Perturbation(Kind.LOWRANK, "linear")])
def test_updates_equal_those_of_this_process(url: str, shallow: Path, perturbation: Perturbation) -> None:
    """Base files and the list of updates give the server's hash; a client that attaches afterwards, or a
    reset, finds the base weights again."""
    import torch

    from ahd.models.runtime import number_format
    from ahd.models.weights import Masters

    masters = Masters.load(shallow, getattr(torch, number_format()), perturbation)
    base = masters.hash()
    model = ServerModel(url, perturbation)
    assert model.weights_hash() == base
    for seeds, weights in (([1, 2, 3], [1.0, -0.5, 0.25]), ([4, 4], [0.1, 2.0])):
        report = model.update(seeds, weights, 5e-4)
        norm, _ = masters.update(seeds, weights, 5e-4)
        assert report.weights_hash == model.weights_hash() == masters.hash()
        assert report.norm == pytest.approx(norm)
    assert ServerModel(url, perturbation).weights_hash() == base
    with pytest.raises(ModelError, match="another client has attached"):
        model.weights_hash()
    model.reset()
    assert model.weights_hash() == base


@pytest.mark.live
@pytest.mark.slow
def test_a_batch_of_directions_equals_one_by_one(url: str) -> None:
    """Low-rank directions share a batch, and each greedy reply in it is its direction's own."""
    model = ServerModel(url, Perturbation(Kind.LOWRANK, "linear"))
    request = ask(temperature=0.0)
    directions = [None, Direction(1, 0.02), Direction(1, -0.02)]
    together = [reply.text for reply in generate(model, [request] * 3, directions)]
    alone = [generate(model, [request], [direction])[0].text for direction in directions]
    assert together == alone
    assert len(set(together)) == 3


@pytest.mark.live
@pytest.mark.slow
def test_closing_the_iterator_restores_the_server(url: str) -> None:
    """A caller that stops early leaves no running request and no perturbation behind, in either kind."""
    greedy = ask(temperature=0.0, tokens=4)
    for perturbation in (Perturbation(Kind.LOWRANK, "linear"), Perturbation()):
        model = ServerModel(url, perturbation)
        frozen = generate(model, [greedy], [None])[0].text
        if not perturbation.batched:
            before = model._wire.rpc("es_copies")
        replies = model.generate([ask(1, tokens=1), ask(2, tokens=700)], [Direction(1, 0.02)] * 2)
        next(replies)
        replies.close()
        assert is_idle(model)
        assert generate(model, [greedy], [None])[0].text == frozen
    assert model._wire.rpc("es_copies") == before


@pytest.mark.live
@pytest.mark.slow
def test_attaching_takes_the_server_over(url: str) -> None:
    """A second client ends what the first one is waiting for, and finds unperturbed base weights, which
    the first one leaves alone."""
    greedy = ask(temperature=0.0, tokens=4)
    first = ServerModel(url)
    frozen = generate(first, [greedy], [None])[0].text
    replies = first.generate([ask(1, tokens=1), ask(2, tokens=700)], [Direction(1, 0.02)] * 2)
    next(replies)
    second = ServerModel(url)
    with pytest.raises(ModelError, match="another client has attached"):
        next(replies)
    assert is_idle(second)
    assert generate(second, [greedy], [None])[0].text == frozen
