"""Two places where vLLM's CPU engine is needlessly slow, replaced by the same computation done faster.

- top-p sampling: vLLM sorts the whole vocabulary for every token of every request. Tokens rarer than
  ``(1 - p) / vocabulary`` cannot survive the cut together, so only the others need sorting.
- RMSNorm: vLLM has a fused kernel for it, also for CPU, but runs about ten separate torch operations.

``install`` must run before the model is built; it does nothing off CPU.
"""

from typing import Any

import numpy as np
import torch
from numba import njit
from vllm.model_executor.layers import layernorm
from vllm.platforms import current_platform
from vllm.v1.sample.ops import topk_topp_sampler

_native_norm = layernorm.RMSNorm.forward_native
_native_cut = topk_topp_sampler.apply_top_k_top_p


def install() -> None:
    """Put the fast versions in place, on CPU."""
    if not current_platform.is_cpu():
        return
    topk_topp_sampler.apply_top_k_top_p = cut_top_p
    if hasattr(torch.ops._C, "rms_norm") and hasattr(torch.ops._C, "fused_add_rms_norm"):
        layernorm.RMSNorm.forward_native = fused_norm


def cut_top_p(logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None) -> torch.Tensor:
    """Set the logits (batch, vocabulary) outside the top-p nucleus to minus infinity, in place.

    Tokens as likely as the least likely one kept are kept too.
    """
    if k is not None or p is None:
        return _native_cut(logits, k, p)
    probabilities = torch.softmax(logits, dim=-1, dtype=torch.float32)
    lowest = torch.from_numpy(_lowest_kept(probabilities.numpy(), 1.0 - p.to(torch.float64).numpy()))
    return logits.masked_fill_(probabilities < lowest.unsqueeze(1), -float("inf"))


@njit(nogil=True, cache=True)
def _lowest_kept(probabilities: Any, tails: Any) -> Any:
    """Per row, the smallest probability kept when the rarest tokens are dropped as long as their sum
    does not exceed the row's tail; the likeliest token is always kept."""
    rows, size = probabilities.shape
    lowest = np.zeros(rows, np.float32)
    kept = np.empty(size, np.float32)
    for row in range(rows):
        tail = tails[row]
        if tail <= 0.0:
            continue
        limit = tail / size
        dropped = 0.0
        count = 0
        for i in range(size):
            value = probabilities[row, i]
            if value > limit:
                kept[count] = value
                count += 1
            else:
                dropped += value
        ascending = np.sort(kept[:count])
        at = 0
        while at < count - 1 and dropped + ascending[at] <= tail:
            dropped += ascending[at]
            at += 1
        lowest[row] = ascending[at]
    return lowest


def fused_norm(self: Any, x: torch.Tensor, residual: torch.Tensor | None = None) -> Any:
    """RMSNorm with vLLM's own kernel where it applies, else as vLLM does it."""
    weight = self.weight.data
    if (
        not self.has_weight
        or self.variance_size_override is not None
        or weight.dtype != x.dtype
        or x.ndim != 2
        or not x.is_contiguous()
    ):
        return _native_norm(self, x, residual)
    if residual is None:
        out = torch.empty_like(x)
        torch.ops._C.rms_norm(out, x, weight, self.variance_epsilon)
        return out
    torch.ops._C.fused_add_rms_norm(x, residual, weight, self.variance_epsilon)
    return x, residual
