"""The live model: a vLLM engine inside this process whose weights are perturbed and updated in place."""

import gc
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ahd.config import ConfigError
from ahd.es.perturbation import Perturbation
from ahd.models import names, runtime
from ahd.models.batches import batches, salt
from ahd.models.engine import load_engine, told
from ahd.models.handle import Handle
from ahd.models.resolve import resolve_model
from ahd.models.tags import tagged
from operators.model import Direction, ModelError, Reply, Request, UpdateReport


class LiveModel:
    """A language model with live weights, served by vLLM inside this process.

    Implements ``operators.model.Model``. Call ``runtime.reexec_with_preload`` early in the process: the
    engine is faster for it. Not safe for use from several threads at once.

    Args:
        model: the default model's name, a local folder or a Hugging Face id.
        perturbation: what a direction is.
        dtype: ``bfloat16``, ``float16``, ``float32``, or ``auto``: the one that is fastest here.
        max_length: most tokens of prompt and reply together; the model's own limit if that is lower.
        max_batch: most requests generated at the same time.
        tensor_parallel: processes that the model is split over, one per GPU.
        trust_remote_code: run Python code that comes with the model.

    Raises:
        ConfigError: no such model, or one vLLM cannot load here, or no weight of it is in scope.
    """

    def __init__(
        self,
        model: str = names.DEFAULT,
        *,
        perturbation: Perturbation | None = None,
        dtype: str = "auto",
        max_length: int = 4096,
        max_batch: int = 64,
        tensor_parallel: int = 1,
        trust_remote_code: bool = False,
    ) -> None:
        self._name = model if model == names.DEFAULT else Path(model).name
        path = resolve_model(model, trust_remote_code)
        runtime.set_environment()
        if model == names.DEFAULT:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        dtype = str(runtime.number_format() if dtype == "auto" else dtype)
        self._engine = load_engine(path, dtype, max_length, max_batch, tensor_parallel, trust_remote_code)
        config = self._engine.model_config
        self._max_length: int = config.max_model_len
        self._max_batch = max_batch
        self._tokenizer: Any = self._engine.get_tokenizer()
        self._ids = count()
        self._closed = False
        try:
            self.use(perturbation or Perturbation())
        except ConfigError:
            self.close()
            raise
        gc.collect()
        gc.freeze()

    @property
    def name(self) -> str:
        return self._name

    @property
    def parameters(self) -> int:
        return self._weights.parameters

    @property
    def dtype(self) -> str:
        """The number format the engine computes in."""
        return self._weights.dtype

    def use(self, perturbation: Perturbation) -> None:
        """Take another kind of direction from now on; the weights are the base model's again.

        Raises:
            ConfigError: no weight of this model is in scope.
        """
        try:
            self._weights = Handle(self._rpc, perturbation)
        except (ValueError, ModelError) as error:
            raise ConfigError(str(error)) from None
        if perturbation.batched:  # so that what the first direction compiles is part of the loading
            self._weights.move_to([Direction(0, 0.0)])
            self._weights.move_to([])

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield ``(index, reply)`` as replies finish; see ``operators.model.Model``.

        Directions that ride in the activations share one batch, unperturbed requests with them. Others
        follow each other in the order of their first appearance; requests with equal directions are
        generated together. The seconds of the replies add up to the time spent here, time spent by the
        caller between replies left out.

        Raises:
            ConfigError: a prompt leaves no room for a reply.
            ModelError: the model is closed, or an update was interrupted half way.
        """
        if len(requests) != len(directions):
            raise ValueError(f"{len(requests)} requests but {len(directions)} directions")
        self._check_usable()
        prompts = [self._tokens(request) for request in requests]
        together = batches(directions, self._max_batch if self._weights.perturbation.batched else 1)
        try:
            for number, batch in enumerate(together, 1):
                each = [
                    (index, requests[index], prompts[index], direction)
                    for direction, indices in batch.items()
                    for index in indices
                ]
                yield from self._generate_batch(list(batch), each, last=number == len(together))
        finally:
            self._settle()

    def _generate_batch(
        self,
        directions: list[Direction | None],
        batch: list[tuple[int, Request, list[int], Direction | None]],
        last: bool,
    ) -> Iterator[tuple[int, Reply]]:
        started = time.perf_counter()
        slots = self._weights.move_to(directions)
        moving = (time.perf_counter() - started) / len(batch)

        started = time.perf_counter()
        running: dict[str, int] = {}
        seconds: dict[int, float] = {}
        try:
            for index, request, tokens, direction in batch:
                running[self._submit(request, tokens, direction, slots.get(direction, 0))] = index
                seconds[index] = 0.0
            while running:
                outputs = [output for output in self._step() if output.finished]
                now = time.perf_counter()
                share = (now - started) / len(running)
                started = now
                for index in running.values():
                    seconds[index] += share
                done = [(running.pop(output.request_id), output) for output in outputs]
                restoring = 0.0
                if last and not running:
                    self._weights.move_to([])
                    restoring = (time.perf_counter() - now) / len(done)
                for index, output in done:
                    yield (
                        index,
                        Reply(
                            text=output.outputs[0].text,
                            prompt_tokens=len(output.prompt_token_ids or ()),
                            completion_tokens=len(output.outputs[0].token_ids),
                            seconds=seconds[index],
                            perturb_seconds=moving + restoring,
                        ),
                    )
                started = time.perf_counter()
        finally:
            if running:
                self._engine.abort_request(list(running))

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """Move the live weights; see ``operators.model.Model``.

        Raises:
            ModelError: the model is closed, or an earlier update was interrupted half way.
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

    def live_hash(self) -> str:
        """SHA-256 over the rounded weights the engine computes with, packed copies read back."""
        copies = [sorted(copies.items()) for copies in self._on_all("es_copies")]
        return hashlib.sha256(repr(copies).encode()).hexdigest()

    def stale_weights(self) -> list[str]:
        """Names of weights whose live copy is not the rounded master: empty when all is well."""
        return sorted({name for names in self._on_all("es_stale") for name in names})

    def close(self) -> None:
        """Shut the engine down and free its memory. May be called twice."""
        if self._closed:
            return
        self._closed = True
        with runtime.silent_stderr():
            self._engine.engine_core.shutdown()
            del self._engine
            gc.unfreeze()
            gc.collect()
            from vllm.distributed.parallel_state import cleanup_dist_env_and_memory

            cleanup_dist_env_and_memory()

    def _check_usable(self) -> None:
        if self._closed:
            raise ModelError("the model is closed")
        self._weights.check()

    def _rpc(self, method: str, *args: Any) -> Any:
        """What the first rank returns."""
        return self._on_all(method, *args)[0]

    def _on_all(self, method: str, *args: Any) -> list[Any]:
        """What every rank returns.

        Raises:
            ModelError: in another process, it failed, or the process is gone.
        """
        with told():
            return list(self._engine.collective_rpc(method, args=args))

    def _step(self) -> list[Any]:
        with told():
            return list(self._engine.step())

    def _settle(self) -> None:
        if not self._closed:
            self._weights.move_to([])

    def _tokens(self, request: Request) -> list[int]:
        """Token ids of the prompt: as a chat where the model has a template, else as plain text; the
        reply's given start comes last."""
        tokenizer = self._tokenizer
        if tokenizer.chat_template:
            chat = [{"role": "user", "content": request.prompt}]
            text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            return list(tokenizer(text + request.prefill, add_special_tokens=False)["input_ids"])
        return list(tokenizer(f"{request.prompt}\n{request.prefill}")["input_ids"])

    def _submit(self, request: Request, tokens: list[int], direction: Direction | None, slot: int) -> str:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        room = self._max_length - len(tokens)
        if room < 1:
            raise ConfigError(
                f"--model {self._name}: a prompt of {len(tokens)} tokens leaves no room in its "
                f"{self._max_length}: choose a model with a longer context"
            )
        params = SamplingParams(
            temperature=request.temperature,
            top_p=request.top_p,
            max_tokens=min(request.max_tokens, room),
            seed=request.seed,
            stop=list(request.stop),
            structured_outputs=StructuredOutputsParams(grammar=request.grammar) if request.grammar else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        request_id = tagged(str(next(self._ids)), slot)
        prompt = {"prompt_token_ids": tokens, "cache_salt": salt(self._weights.hash, direction)}
        self._engine.add_request(request_id, prompt, params)
        return request_id
