"""The live model: a vLLM engine inside this process whose weights are perturbed and updated in place."""

import gc
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ahd.config import ConfigError
from ahd.models import embedded, names, runtime
from ahd.models.names import locate
from operators.model import Direction, Reply, Request, UpdateReport


class ModelError(RuntimeError):
    """The engine failed. The message says what happened, in one line."""


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
        dtype: ``bfloat16``, ``float16`` or ``float32``.
        max_length: most tokens of prompt and reply together; the model's own limit if that is lower.
        max_batch: most requests generated at the same time.

    Raises:
        ConfigError: no such model, or one vLLM cannot load here.
    """

    def __init__(
        self,
        model: str = names.DEFAULT,
        *,
        dtype: str = "bfloat16",
        max_length: int = 4096,
        max_batch: int = 64,
    ) -> None:
        self._name = model if model == names.DEFAULT else Path(model).name
        path = resolve_model(model)
        runtime.set_environment()
        if model == names.DEFAULT:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        self._engine = _load_engine(path, dtype, max_length, max_batch)
        config = self._engine.model_config
        self._max_length: int = config.max_model_len
        self._tokenizer: Any = self._engine.get_tokenizer()
        self._ids = count()
        self._perturbed = False
        self._torn = False
        self._closed = False
        self._parameters: int = self._rpc("es_init")
        self._rpc("es_restore")
        gc.collect()
        gc.freeze()

    @property
    def name(self) -> str:
        return self._name

    @property
    def parameters(self) -> int:
        return self._parameters

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield ``(index, reply)`` as replies finish; see ``operators.model.Model``.

        Requests with equal directions are generated together, wherever they stand in the list; the
        directions follow each other in the order of their first appearance. The seconds of the replies
        add up to the time spent here, time spent by the caller between replies left out.

        Raises:
            ConfigError: a prompt leaves no room for a reply.
            ModelError: the model is closed, or an update was interrupted half way.
        """
        if len(requests) != len(directions):
            raise ValueError(f"{len(requests)} requests but {len(directions)} directions")
        self._check_usable()
        prompts = [self._tokens(request) for request in requests]
        groups: dict[Direction | None, list[int]] = {}
        for index, direction in enumerate(directions):
            groups.setdefault(direction, []).append(index)
        try:
            for number, (direction, indices) in enumerate(groups.items(), 1):
                batch = [(index, requests[index], prompts[index]) for index in indices]
                yield from self._generate_group(direction, batch, last=number == len(groups))
        finally:
            self._settle()

    def _generate_group(
        self, direction: Direction | None, batch: list[tuple[int, Request, list[int]]], last: bool
    ) -> Iterator[tuple[int, Reply]]:
        started = time.perf_counter()
        self._move_to(direction)
        moving = (time.perf_counter() - started) / len(batch)

        started = time.perf_counter()
        running: dict[str, int] = {}
        seconds: dict[int, float] = {}
        try:
            for index, request, tokens in batch:
                running[self._submit(request, tokens)] = index
                seconds[index] = 0.0
            while running:
                outputs = [output for output in self._engine.step() if output.finished]
                now = time.perf_counter()
                share = (now - started) / len(running)
                started = now
                for index in running.values():
                    seconds[index] += share
                done = [(running.pop(output.request_id), output) for output in outputs]
                restoring = 0.0
                if last and not running:
                    self._move_to(None)
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
        """
        self._check_usable()
        started = time.perf_counter()
        self._torn = True
        result = self._rpc("es_update", list(seeds), [float(w) for w in weights], float(alpha))
        self._forget_prefixes()
        self._torn = False
        return UpdateReport(
            norm=result["norm"],
            weights_hash=result["hash"],
            moved=result["moved"],
            seconds=time.perf_counter() - started,
        )

    def weights_hash(self) -> str:
        """SHA-256 over the float32 masters, by Hugging Face tensor name (``weights.Masters.hash``)."""
        self._check_usable()
        return str(self._rpc("es_hash"))

    def live_hash(self) -> str:
        """SHA-256 over the rounded weights the engine computes with, packed copies read back."""
        return str(self._rpc("es_live_hash"))

    def stale_weights(self) -> list[str]:
        """Names of weights whose live copy is not the rounded master: empty when all is well."""
        return list(self._rpc("es_stale"))

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
        return self._engine.collective_rpc(method, args=args)[0]

    def _move_to(self, direction: Direction | None) -> None:
        """Perturb the live weights, from the masters; None restores them."""
        if direction is None and not self._perturbed:
            return
        self._perturbed = True
        if direction is None:
            self._rpc("es_restore")
        else:
            self._rpc("es_apply", direction.seed, direction.sigma)
        self._forget_prefixes()
        self._perturbed = direction is not None

    def _settle(self) -> None:
        if not self._closed:
            self._move_to(None)

    def _forget_prefixes(self) -> None:
        """Empty the prefix cache: its keys and values were computed with other weights."""
        if not self._engine.reset_prefix_cache():
            raise ModelError("the engine did not empty its prefix cache: a request is still running")

    def _tokens(self, request: Request) -> list[int]:
        """Token ids of the prompt: as a chat where the model has a template, else as plain text; the
        reply's given start comes last."""
        tokenizer = self._tokenizer
        if tokenizer.chat_template:
            chat = [{"role": "user", "content": request.prompt}]
            text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            return list(tokenizer(text + request.prefill, add_special_tokens=False)["input_ids"])
        return list(tokenizer(f"{request.prompt}\n{request.prefill}")["input_ids"])

    def _submit(self, request: Request, tokens: list[int]) -> str:
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
        request_id = str(next(self._ids))
        self._engine.add_request(request_id, {"prompt_token_ids": tokens}, params)
        return request_id


def _shield_numba() -> None:
    """vLLM 0.32 looks at ``__dict__`` of every object in every loaded module. Numba's handle on LLVM takes
    that for a function of the library and answers with an object vLLM stumbles over."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    table = getattr(getattr(ffi, "lib", None), "_fntab", None)
    if isinstance(table, dict):
        table.setdefault("__dict__", {})


def _load_engine(path: str, dtype: str, max_length: int, max_batch: int) -> Any:
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
            if current_platform.is_cpu():
                torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or runtime.engine_threads()))
                args["kv_cache_memory_bytes"] = _cache_bytes(config, length, dtype)
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
                    enforce_eager=current_platform.is_cpu(),
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


def _cache_bytes(config: Any, length: int, dtype: str) -> int:
    """Memory for keys and values: 16 sequences of full length, at most a quarter of what is free, at
    least one sequence."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token = 2 * config.num_hidden_layers * heads * width * (4 if dtype == "float32" else 2)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(max(token * (length + 256), min(16 * token * length, free // 4)))
