"""The live model: a vLLM engine inside this process whose weights are perturbed and updated in place."""

import gc
import hashlib
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ahd.config import ConfigError
from ahd.es.perturbation import Perturbation
from ahd.models import embedded, names, runtime
from ahd.models.batches import batches, listed, salt
from ahd.models.names import locate
from ahd.models.tags import tagged
from operators.model import Direction, ModelError, Reply, Request, UpdateRefused, UpdateReport


def resolve_model(name: str) -> str:
    """What the engine is given for ``--model name``: a local folder or a Hugging Face id.

    The default model is built first when needed.

    Raises:
        ConfigError: nothing by that name.
    """
    if name == names.DEFAULT:
        return str(embedded.ensure())
    folder = locate(name)
    if folder is not None:
        return str(folder)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    patterns = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
    try:
        return snapshot_download(name, allow_patterns=patterns)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"--model {name}: cannot be downloaded ({reason}): check the id and the network, "
            "or give a local folder"
        ) from error


def count_parameters(path: str) -> int:
    """Number of weights of the model in a local folder, from the headers of its safetensors files.

    Raises:
        ConfigError: there are none.
    """
    from safetensors import safe_open

    total = 0
    for file in Path(path).glob("*.safetensors"):
        with safe_open(file, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                size = 1
                for length in tensors.get_slice(name).get_shape():
                    size *= length
                total += size
    if not total:
        raise ConfigError(f"--model {path}: no safetensors files in it: convert the model to safetensors")
    return total


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
    ) -> None:
        self._name = model if model == names.DEFAULT else Path(model).name
        path = resolve_model(model)
        runtime.set_environment()
        if model == names.DEFAULT:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        dtype = str(runtime.number_format() if dtype == "auto" else dtype)
        self._engine = _load_engine(path, dtype, max_length, max_batch, tensor_parallel)
        config = self._engine.model_config
        self._max_length: int = config.max_model_len
        self._max_batch = max_batch
        self._tokenizer: Any = self._engine.get_tokenizer()
        self._ids = count()
        self._perturbed = False
        self._torn = False
        self._closed = False
        self._dtype = dtype
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
        return self._parameters

    @property
    def dtype(self) -> str:
        """The number format the engine computes in."""
        return self._dtype

    def use(self, perturbation: Perturbation) -> None:
        """Take another kind of direction from now on; the weights are the base model's again.

        Raises:
            ConfigError: no weight of this model is in scope.
        """
        try:
            report = self._rpc("es_init", perturbation.kind.value, perturbation.scope, perturbation.rank)
        except (ValueError, ModelError) as error:
            raise ConfigError(str(error)) from None
        self._perturbation = perturbation
        self._parameters: int = report["parameters"]
        self._hash: str = report["hash"]

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
        together = batches(directions, self._max_batch if self._perturbation.batched else 1)
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
        slots = self._move_to(directions)
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
                    self._move_to([])
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
        started = time.perf_counter()
        self._torn = True
        result = self._rpc("es_update", listed(seeds), listed(map(float, weights)), float(alpha))
        self._torn = False
        if "refused" in result:
            raise UpdateRefused(result["refused"])
        self._hash = result["hash"]
        return UpdateReport(
            norm=result["norm"],
            weights_hash=self._hash,
            moved=result["moved"],
            seconds=time.perf_counter() - started,
        )

    def reset(self) -> None:
        """See ``operators.model.Model``. An update that was interrupted half way is mended by it."""
        if self._closed:
            raise ModelError("the model is closed")
        self._torn = True
        self._hash = self._rpc("es_reset")
        self._torn = False

    def weights_hash(self) -> str:
        """SHA-256 over the weights, by Hugging Face tensor name (``weights.Masters.hash``)."""
        self._check_usable()
        return self._hash

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
        if self._torn:
            raise ModelError("an update of the weights was interrupted: resume the run to rebuild them")

    def _rpc(self, method: str, *args: Any) -> Any:
        """What the first rank returns."""
        return self._on_all(method, *args)[0]

    def _on_all(self, method: str, *args: Any) -> list[Any]:
        """What every rank returns.

        Raises:
            ModelError: in another process, it failed, or the process is gone.
        """
        with _told():
            return list(self._engine.collective_rpc(method, args=args))

    def _step(self) -> list[Any]:
        with _told():
            return list(self._engine.step())

    def _move_to(self, directions: Sequence[Direction | None]) -> dict[Direction | None, int]:
        """Perturb the live weights, from the masters, or fill the slots; no direction restores them.

        Returns:
            The slot of each direction that has one.
        """
        chosen = [direction for direction in directions if direction is not None]
        if not chosen and not self._perturbed:
            return {}
        self._perturbed = True
        slots: dict[Direction | None, int] = {}
        if self._perturbation.batched:
            seeds, sigmas = ([getattr(each, name) for each in chosen] for name in ("seed", "sigma"))
            self._rpc("es_directions", listed(seeds), listed(sigmas))
            slots = {direction: slot for slot, direction in enumerate(chosen, 1)}
        elif chosen:
            self._rpc("es_apply", chosen[0].seed, chosen[0].sigma)
        else:
            self._rpc("es_restore")
        self._perturbed = bool(chosen)
        return slots

    def _settle(self) -> None:
        if not self._closed:
            self._move_to([])

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
        from vllm.sampling_params import RequestOutputKind

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
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        request_id = tagged(str(next(self._ids)), slot)
        prompt = {"prompt_token_ids": tokens, "cache_salt": salt(self._hash, direction)}
        self._engine.add_request(request_id, prompt, params)
        return request_id


@contextmanager
def _told() -> Iterator[None]:
    """Tell what vLLM says of failures in its other processes in one line."""
    try:
        yield
    except RuntimeError as error:
        found = re.match(r"Worker failed with error '(.*)', please check", str(error), re.DOTALL)
        if found:
            raise ModelError(" ".join(found[1].split())) from None
        if str(error) in ("cancelled", "Executor failed."):
            raise ModelError(
                "a process of the engine is gone: resume the run to start a new engine"
            ) from error
        raise


def _shield_numba() -> None:
    """vLLM 0.32 looks at ``__dict__`` of every object in every loaded module. Numba's handle on LLVM takes
    that for a function of the library and answers with an object vLLM stumbles over."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    table = getattr(getattr(ffi, "lib", None), "_fntab", None)
    if isinstance(table, dict):
        table.setdefault("__dict__", {})


def _load_engine(path: str, dtype: str, max_length: int, max_batch: int, ranks: int) -> Any:
    """Load the engine in silence. When it fails, what it printed is kept and the error says where."""
    log = Path()
    try:
        with runtime.silent_stderr() as log, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from transformers import AutoConfig
            from vllm import EngineArgs
            from vllm.platforms import current_platform
            from vllm.v1.engine.llm_engine import LLMEngine

            _shield_numba()
            config = AutoConfig.from_pretrained(path, local_files_only=True).get_text_config()
            length = min(max_length, getattr(config, "max_position_embeddings", max_length))
            args: dict[str, Any] = {}
            if ranks > 1:
                args |= {"tensor_parallel_size": ranks, "distributed_executor_backend": "mp"}
                os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
                # Cores are bound by memory node, of which small machines have one.
                os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
            if current_platform.is_cpu():
                torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or runtime.engine_threads()))
                args["kv_cache_memory_bytes"] = _cache_bytes(config, length, dtype, ranks)
                # The start that prompts share is only computed once in whole blocks of this many tokens.
                args["block_size"] = 32
            return LLMEngine.from_engine_args(
                EngineArgs(
                    model=path,
                    dtype=dtype,
                    max_model_len=length,
                    max_num_seqs=max_batch,
                    # A prompt cut in chunks breaks seeded sampling on CPU: it rewinds a generator
                    # that cannot be rewound there.
                    enable_chunked_prefill=False,
                    max_num_batched_tokens=max(length, 8192),
                    # Steps ride on hooks, which neither compiled code nor captured graphs would run.
                    enforce_eager=True,
                    disable_log_stats=True,
                    use_tqdm_on_load=False,
                    generation_config="vllm",
                    worker_extension_cls="ahd.models.worker.LiveWeights",
                    seed=0,
                    **args,
                )
            )
    except Exception as error:
        with log.open("a") as file:
            traceback.print_exc(file=file)
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(f"--model {path}: vLLM cannot load it here: {reason} (log: {log})") from error


def _cache_bytes(config: Any, length: int, dtype: str, ranks: int) -> int:
    """Memory of a rank for keys and values: 16 sequences of full length, at most a quarter of what is free
    for all ranks, at least one sequence."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    heads = max(1, heads // ranks)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token = 2 * config.num_hidden_layers * heads * width * (4 if dtype == "float32" else 2)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(max(token * (length + 256), min(16 * token * length, free // 4 // ranks)))
