"""One live engine for all tests of the session, on a model that loads and answers quickly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAYERS = 2


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


@pytest.fixture(scope="session")
def live(shallow: Path) -> Iterator[Any]:
    """The shallow model on a live engine; tests that use it leave its weights as they found them, unless
    they say otherwise."""
    from ahd.models import runtime

    runtime.set_environment()
    from ahd.models.live import LiveModel

    model = LiveModel(str(shallow), max_length=1024)
    yield model
    model.close()
