"""Tests side by side (``pytest -n``): each worker has a core of its own, and the longest files come first. A
model that loads and answers quickly."""

import os
from pathlib import Path

import pytest

LAYERS = 2
"""Of the default model that are kept in the quick one."""


def pytest_configure() -> None:
    """Stay, with all child processes, on one core: engines that share cores wait for each other."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with live tests first, then those with slow ones: none is left over at the end."""
    rank: dict[object, int] = {}
    for item in items:
        own = 0 if item.get_closest_marker("live") else 1 if item.get_closest_marker("slow") else 2
        rank[item.path] = min(own, rank.get(item.path, own))
    items.sort(key=lambda item: rank[item.path])


@pytest.fixture(scope="session")
def shallow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the default model cut down to its first layers: every kind of tensor, the tied output
    layer, tokenizer and chat template are there, at a quarter of the cost."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ahd.models.embedded import ensure

    folder = tmp_path_factory.mktemp("models") / "shallow"
    model = AutoModelForCausalLM.from_pretrained(
        ensure(), num_hidden_layers=LAYERS, dtype=torch.bfloat16, local_files_only=True
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(ensure(), local_files_only=True).save_pretrained(folder)
    return folder
