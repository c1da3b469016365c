"""The vLLM engine inside this process."""

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ahd.config import ConfigError
from ahd.models import runtime
from operators.model import ModelError


def load_engine(
    path: str, dtype: str, max_length: int, max_batch: int, ranks: int, trusted: bool = False
) -> Any:
    """Load the engine in silence. When it fails, what it printed is kept and the error says where.

    Args:
        path: folder of the model.
        dtype: ``bfloat16``, ``float16`` or ``float32``.
        max_length: most tokens of a sequence; the model's own limit if that is lower.
        max_batch: most sequences at the same time.
        ranks: processes that the model is split over.
        trusted: run Python code that comes with the model.

    Raises:
        ConfigError: vLLM cannot load it here.
    """
    log = Path()
    try:
        with runtime.silent_stderr() as log, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from transformers import AutoConfig
            from vllm import EngineArgs
            from vllm.platforms import current_platform
            from vllm.v1.engine.llm_engine import LLMEngine

            from ahd.models import grammars

            _shield_numba()
            grammars.install()
            config = AutoConfig.from_pretrained(
                path, local_files_only=True, trust_remote_code=trusted
            ).get_text_config()
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
            engine = LLMEngine.from_engine_args(
                EngineArgs(
                    model=path,
                    trust_remote_code=trusted,
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
            # Compiled in a thread, a grammar may come a step late: another batch, and other rounding.
            engine.engine_core.engine_core.structured_output_manager._use_async_grammar_compilation = False
            return engine
    except Exception as error:
        with log.open("a") as file:
            traceback.print_exc(file=file)
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(f"--model {path}: vLLM cannot load it here: {reason} (log: {log})") from error


@contextmanager
def told() -> Iterator[None]:
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


def _cache_bytes(config: Any, length: int, dtype: str, ranks: int) -> int:
    """Memory of a rank for keys and values: 16 sequences of full length, at most a quarter of what is free
    for all ranks, at least one sequence."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    heads = max(1, heads // ranks)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token = 2 * config.num_hidden_layers * heads * width * (4 if dtype == "float32" else 2)
    free = runtime.free_memory()
    return int(max(token * (length + 256), min(16 * token * length, free // 4 // ranks)))
