"""Layers that are held to the same numbers in Rust, by `crates/nn/tests/layers.rs`."""

import math

import pytest

import allotrope as al

ADDED = [[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [1.0, -1.0, 0.0]]
WITHOUT = [[0.0, 0.0, 0.0], [-math.inf, 0.0, 0.0], [0.0, -math.inf, 0.0]]
#: A mask, whether it is causal beside, and the outputs that NumPy gives.
CASES = [
    (ADDED, False, [0.8622417, 0.8972183, 0.7793086, 0.8205927, 0.9280681, 0.4684914]),
    (ADDED, True, [1.0, 0.0, 0.4484076, 0.5515924, 0.9280681, 0.4684914]),
    (WITHOUT, True, [1.0, 0.0, 0.0, 1.0, 1.0, 0.6697615]),
    (None, True, [1.0, 0.0, 0.3302385, 0.6697615, 0.7517449, 0.7517449]),
]


def attention(**options):
    layer = al.nn.MultiheadAttention(2, 1, bias=False, batch_first=True, **options)
    with al.no_grad():
        layer.in_proj_weight.copy_(al.cat([al.eye(2)] * 3))
        layer.out_proj.weight.copy_(al.eye(2))
    return layer


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("mask, is_causal, wanted", CASES)
def test_causal_attention_beside_other_masks(mask, is_causal, wanted, need_weights):
    layer = attention()
    x = al.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    masks = [None] if mask is None else [al.tensor(mask)]
    if mask is WITHOUT:
        masks.append(al.tensor(mask) < 0)
    for given in masks:
        found, _ = layer(x, x, x, attn_mask=given, is_causal=is_causal, need_weights=need_weights)
        assert found.reshape(-1).tolist() == pytest.approx(wanted, abs=1e-6)
    padding = al.zeros(1, 3, dtype=al.bool)
    found, _ = layer(
        x, x, x, padding, attn_mask=masks[0], is_causal=is_causal, need_weights=need_weights
    )
    assert found.reshape(-1).tolist() == pytest.approx(wanted, abs=1e-6)


def test_the_kernel_takes_the_causal_mask(monkeypatch):
    """Alone, it is not written out as numbers."""
    taken = []
    kernel = al.nn.functional.scaled_dot_product_attention

    def watched(q, k, v, mask=None, dropout=0.0, is_causal=False, **options):
        taken.append((mask is not None, is_causal))
        return kernel(q, k, v, mask, dropout, is_causal, **options)

    monkeypatch.setattr(al.nn.attention.F, "scaled_dot_product_attention", watched)
    x = al.randn(1, 3, 2)
    attention()(x, x, x, is_causal=True, need_weights=False)
    attention()(x, x, x, is_causal=True, need_weights=False, attn_mask=al.zeros(3, 3))
    # Keys that were added are seen by all.
    attention(add_zero_attn=True)(x, x, x, is_causal=True, need_weights=False)
    assert taken == [(False, True), (True, False), (True, False)]


def test_running_statistics_are_not_rounded_with_the_network():
    for layer in (al.nn.BatchNorm1d(1).to(al.bfloat16), al.nn.BatchNorm1d(1, dtype=al.bfloat16)):
        assert layer(al.tensor([[1.0], [3.0]], dtype=al.bfloat16)).dtype == al.bfloat16
        assert layer.running_mean.dtype == al.float32
        assert al.equal(layer.running_mean, al.tensor([0.2]))
        assert al.equal(layer.running_var, al.tensor([1.1]))
        assert layer.to(al.float64).running_mean.dtype == al.float64
        assert layer.to(al.float16).running_mean.dtype == al.float32
