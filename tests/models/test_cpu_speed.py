"""The faster replacements compute what vLLM computes."""

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]


def test_top_p_keeps_the_same_tokens() -> None:
    """The nucleus is the one found by sorting the whole vocabulary, for flat and for peaked rows."""
    import torch
    from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p_pytorch

    from ahd.models.cpu_speed import cut_top_p

    generator = torch.Generator().manual_seed(1)
    scale = torch.tensor([[0.1], [1.0], [3.0], [8.0], [50.0], [3.0]])
    logits = torch.randn(6, 5003, generator=generator) * scale
    p = torch.tensor([0.98, 0.98, 0.98, 0.9, 0.5, 1.0])
    expected = apply_top_k_top_p_pytorch(logits.clone(), None, p)
    ours = cut_top_p(logits.clone(), None, p)
    kept, ours_kept = torch.isfinite(expected).sum(1), torch.isfinite(ours).sum(1)
    assert ((kept - ours_kept).abs() <= 1).all()
    assert torch.equal(ours[torch.isfinite(ours)], logits[torch.isfinite(ours)])
    assert ours_kept[5] == 5003
    assert ours_kept[4] >= 1


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_what_a_grammar_masks_stays_out(kind: str) -> None:
    """Of logits with a bitmask applied as the engine does it, only tokens of the mask are left, the same as
    after sorting, and never none: with many allowed, with two and with one."""
    import torch
    import xgrammar
    from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p_pytorch

    from ahd.models.cpu_speed import cut_top_p

    generator = torch.Generator().manual_seed(1)
    logits = (torch.randn(3, 4096, generator=generator) * 3).to(getattr(torch, kind)).float()
    bits = torch.zeros(3, 4096, dtype=torch.bool)
    bits[0, ::7], bits[1, [5, 4000]], bits[2, 31] = True, True, True
    mask = (bits.view(3, 128, 32).long() << torch.arange(32)).sum(-1).to(torch.int32)
    xgrammar.apply_token_bitmask_inplace(logits, mask)
    p = torch.tensor([0.95, 0.95, 0.5])
    kept = torch.isfinite(cut_top_p(logits.clone(), None, p))
    expected = torch.isfinite(apply_top_k_top_p_pytorch(logits.clone(), None, p))
    assert not (kept & ~bits).any()
    assert kept.any(1).all()
    assert ((kept.sum(1) - expected.sum(1)).abs() <= 1).all()


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_norm_agrees(kind: str) -> None:
    """The fused RMSNorm agrees with vLLM's own within rounding, with and without a residual."""
    import torch
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.layernorm import RMSNorm

    from ahd.models import cpu_speed

    dtype = getattr(torch, kind)
    with set_current_vllm_config(VllmConfig()):
        layer = RMSNorm(576, eps=1e-5, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    layer.weight.data = torch.randn(576, generator=generator).to(dtype)
    x, residual = (torch.randn(3, 576, generator=generator).to(dtype) for _ in range(2))
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if kind == "bfloat16" else {}
    torch.testing.assert_close(
        cpu_speed.fused_norm(layer, x.clone()), cpu_speed._native_norm(layer, x.clone()), **tolerance
    )
    ours = cpu_speed.fused_norm(layer, x.clone(), residual.clone())
    theirs = cpu_speed._native_norm(layer, x.clone(), residual.clone())
    torch.testing.assert_close(ours, theirs, **tolerance)
