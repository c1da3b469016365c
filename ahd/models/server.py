"""The live model on a running vLLM server, over HTTP.

The server runs with the worker extension and in development mode; docs/scaling.md has the command. Replies
come from ``/v1/completions``, tokens from ``/tokenize``, and ``/collective_rpc`` moves the weights by the
methods of ``ahd.models.worker.LiveWeights``. A server belongs to the client that attached to it last.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from ahd.config import ConfigError
from ahd.es.perturbation import Perturbation
from ahd.models.batches import batches, salt
from ahd.models.handle import Handle
from ahd.models.tags import tagged
from ahd.models.wire import ServerFailed, Wire
from operators.model import Direction, ModelError, Reply, Request, UpdateReport

_AT_ONCE = 64
"""Most directions in one batch, and most requests under way at the same time."""
_HELP = "start it as docs/scaling.md says"
_MARK = "<<the prompt>>"


@dataclass(frozen=True)
class _Chat:
    """The text before and after the prompt that the model's chat template makes."""

    head: str
    tail: str


class ServerModel:
    """A language model with live weights on a vLLM server. Implements ``operators.model.Model``.

    Attaching ends whatever the server is doing and puts the base weights back. Not safe for use from
    several threads at once.

    Args:
        url: address of the server, such as ``http://127.0.0.1:8000``.
        perturbation: what a direction is.

    Raises:
        ConfigError: nothing answers there, or a server that was not started for this; or no weight is in
            scope.
    """

    def __init__(self, url: str, perturbation: Perturbation | None = None) -> None:
        self._wire = Wire(url)
        self._ids = count()
        self._run = f"ahd-{time.time_ns():x}"
        self._taken = False
        self._closed = False
        try:
            card = self._wire.call("/v1/models")["data"][0]
            self._served: str = card["id"]
            self._max_length: int = card["max_model_len"]
            self._weights = self._attach(perturbation or Perturbation())
            self._chat = self._find_chat()
        except ServerFailed as error:
            raise ConfigError(f"--server {url}: {_unfit(error)}: {_HELP}") from None
        except (LookupError, TypeError):
            raise ConfigError(f"--server {url}: what answers there is not a vLLM server: {_HELP}") from None

    @property
    def name(self) -> str:
        return PurePosixPath(self._served).name

    @property
    def parameters(self) -> int:
        return self._weights.parameters

    @property
    def dtype(self) -> str:
        """The number format the server computes in."""
        return self._weights.dtype

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield ``(index, reply)`` as replies finish; see ``operators.model.Model``.

        Batches and seconds are as in ``ahd.models.live.LiveModel.generate``. The server goes on writing
        while the caller has a reply in hand.

        Raises:
            ConfigError: a prompt leaves no room for a reply.
            ModelError: the model is closed, the server is gone, or another client has taken it over.
        """
        if len(requests) != len(directions):
            raise ValueError(f"{len(requests)} requests but {len(directions)} directions")
        self._check_usable()
        bodies = [self._body(request) for request in requests]
        together = batches(directions, _AT_ONCE if self._weights.perturbation.batched else 1)
        try:
            for batch in together:
                each = [
                    (index, bodies[index], direction)
                    for direction, indices in batch.items()
                    for index in indices
                ]
                yield from self._generate_batch(list(batch), each, last=batch is together[-1])
        finally:
            self._settle()

    def _generate_batch(
        self,
        directions: Sequence[Direction | None],
        batch: Sequence[tuple[int, Mapping[str, Any], Direction | None]],
        last: bool,
    ) -> Iterator[tuple[int, Reply]]:
        started = time.perf_counter()
        slots = self._weights.move_to(directions)
        moving = (time.perf_counter() - started) / len(batch)

        started = time.perf_counter()
        running: dict[Future[Any], tuple[int, str]] = {}
        seconds: dict[int, float] = {}
        with ThreadPoolExecutor(min(len(batch), _AT_ONCE)) as pool:
            try:
                for index, body, direction in batch:
                    request_id = tagged(f"{self._run}-{next(self._ids)}", slots.get(direction, 0))
                    salted = {**body, "cache_salt": salt(self._weights.hash, direction)}
                    future = pool.submit(self._wire.call, "/v1/completions", salted, request_id)
                    running[future] = index, request_id
                    seconds[index] = 0.0
                while running:
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    now = time.perf_counter()
                    share = (now - started) / len(running)
                    for index, _ in running.values():
                        seconds[index] += share
                    done = [(running.pop(future)[0], self._finished(future)) for future in finished]
                    restoring = 0.0
                    if last and not running:
                        self._weights.move_to([])
                        restoring = (time.perf_counter() - now) / len(done)
                    for index, answer in done:
                        yield index, _reply(answer, seconds[index], moving + restoring)
                    started = time.perf_counter()
            finally:
                self._abort(running)

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """Move the live weights; see ``operators.model.Model``.

        Raises:
            ModelError: as for ``generate``, or an earlier update was interrupted half way.
            UpdateRefused: a weight would leave the range of its format.
        """
        self._check_usable()
        return self._weights.update(seeds, weights, alpha)

    def reset(self) -> None:
        """See ``operators.model.Model``. An update that was interrupted half way is mended by it."""
        if self._closed:
            raise ModelError("the model is closed")
        self._weights.reset()

    def weights_hash(self) -> str:
        """SHA-256 over the weights, by Hugging Face tensor name (``weights.Masters.hash``)."""
        self._check_usable()
        return self._weights.hash

    def close(self) -> None:
        """Let go of the server, which keeps its weights until a client attaches. May be called twice."""
        self._closed = True

    def _attach(self, perturbation: Perturbation) -> Handle:
        """End what a lost client may have left running, then take the weights over."""
        self._wire.call("/abort_requests", {})
        weights = Handle(self._wire.rpc, perturbation)
        # The salts of requests tell weights and directions apart, but not kinds of perturbation.
        for _ in range(50):
            if self._wire.call("/reset_prefix_cache", {})["success"]:
                return weights
            time.sleep(0.2)
        raise ServerFailed(self._wire.url, "others are using it, and a run needs a server of its own")

    def _check_usable(self) -> None:
        if self._closed:
            raise ModelError("the model is closed")
        self._weights.check()
        if self._wire.rpc("es_hash") != self._weights.hash:
            raise self._not_ours()

    def _not_ours(self) -> ModelError:
        return ModelError(
            f"another client has attached to the server at {self._wire.url}: resume the run to take it back"
        )

    def _settle(self) -> None:
        if not (self._closed or self._taken):
            self._weights.move_to([])

    def _finished(self, future: Future[Any]) -> Any:
        """The server's answer. An early end that was not asked for here means that another client has
        attached, whose weights are to be left alone."""
        answer = future.result()
        if answer["choices"][0]["finish_reason"] == "abort":
            self._taken = True
            raise self._not_ours()
        return answer

    def _abort(self, running: Mapping[Future[Any], tuple[int, str]]) -> None:
        """End requests; return when the engine has none of them any more. One that was still on its way
        to the server is caught by the next try."""
        left = {future for future in running if not future.cancel()}
        while left:
            ids = [f"cmpl-{running[future][1]}-0" for future in left]
            self._wire.call("/abort_requests", {"request_ids": ids})
            _, left = wait(left, timeout=0.2)

    def _body(self, request: Request) -> dict[str, Any]:
        """A request in the server's words. What the model's own settings might change is said outright."""
        tokens = self._tokens(request)
        room = self._max_length - len(tokens)
        if room < 1:
            raise ConfigError(
                f"--server {self._wire.url}: a prompt of {len(tokens)} tokens leaves no room in its "
                f"{self._max_length}: start it with a larger --max-model-len"
            )
        grammar = {"structured_outputs": {"grammar": request.grammar}} if request.grammar else {}
        return {
            "model": self._served,
            "prompt": tokens,
            "seed": request.seed,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "stop": list(request.stop),
            "max_tokens": min(request.max_tokens, room),
            **grammar,
        }

    def _tokens(self, request: Request) -> list[int]:
        """Token ids of the prompt: as a chat where the model has a template, else as plain text; the
        reply's given start comes last."""
        chat = self._chat
        if chat is None:
            return self._tokenize(prompt=f"{request.prompt}\n{request.prefill}")
        text = f"{chat.head}{request.prompt}{chat.tail}{request.prefill}"
        return self._tokenize(prompt=text, add_special_tokens=False)

    def _tokenize(self, **what: Any) -> list[int]:
        return list(self._wire.call("/tokenize", {"model": self._served, **what})["tokens"])

    def _find_chat(self) -> _Chat | None:
        """What the chat template puts around a prompt; None where the model has none."""
        try:
            tokens = self._tokenize(messages=[{"role": "user", "content": _MARK}])
        except ServerFailed as error:
            if error.status == 400:
                return None
            raise
        text = self._wire.call("/detokenize", {"model": self._served, "tokens": tokens})["prompt"]
        head, mark, tail = text.partition(_MARK)
        if not mark or self._tokenize(prompt=text, add_special_tokens=False) != tokens:
            raise ServerFailed(self._wire.url, "its tokenizer does not give back the text of a chat")
        return _Chat(head, tail)


def _unfit(error: ServerFailed) -> str:
    """What is wrong with a server that cannot be attached to."""
    if error.reason == "it has no /abort_requests":
        return "it runs without VLLM_SERVER_DEV_MODE=1"
    if "'es_init'" in error.reason:
        return "it runs without --worker-extension-cls ahd.models.worker.LiveWeights"
    return error.reason


def _reply(answer: Any, seconds: float, perturb_seconds: float) -> Reply:
    return Reply(
        text=answer["choices"][0]["text"],
        prompt_tokens=answer["usage"]["prompt_tokens"],
        completion_tokens=answer["usage"]["completion_tokens"],
        seconds=seconds,
        perturb_seconds=perturb_seconds,
    )
