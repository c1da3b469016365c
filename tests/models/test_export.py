"""An exported model is the run's model, for every engine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahd.config import Dtype, Kind, RunConfig
from ahd.es.perturbation import Perturbation, perturbation_of
from ahd.weights import export, read
from operators.model import Request
from tests.test_weights import logged

pytestmark = [pytest.mark.slow, pytest.mark.live]

PROMPTS = ["Name three large cities.", "Count from one to ten.", "What is rain?"]
ANSWER = """
import json, sys
from ahd.models import runtime
runtime.set_environment()
from ahd.models.live import LiveModel
from operators.model import Request

model = LiveModel(sys.argv[1], dtype=sys.argv[2], max_length=1024)
requests = [Request(prompt, seed=0, temperature=0.0, max_tokens=16) for prompt in json.loads(sys.argv[3])]
replies = dict(model.generate(requests, [None] * len(requests)))
print(json.dumps([model.weights_hash(), [replies[index].text for index in sorted(replies)]]))
model.close()
"""


@pytest.fixture(scope="module")
def exported(live: Any, shallow: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a run of the live model, its export, and the greedy replies before and after its updates;
    low rank, so that matrices, gains and the embedding move, each in its own way."""
    folder = tmp_path_factory.mktemp("export")
    config = RunConfig("tsp", model=str(shallow), kind=Kind.LOWRANK, scope="all", dtype=Dtype(live.dtype))
    requests = [Request(prompt, seed=0, temperature=0.0, max_tokens=16) for prompt in PROMPTS]

    def answers() -> list[str]:
        replies = dict(live.generate(requests, [None] * len(requests)))
        return [replies[index].text for index in sorted(replies)]

    live.use(perturbation_of(config))
    before = answers()
    logged(folder / "run", config, live, [([1, 2, 3], [1.0, -0.5, 2.0], 5e-3), ([4], [1.0], 5e-3)])
    after = answers()
    live.use(Perturbation())
    assert export(folder / "run", folder / "model", None) == 0
    return folder, before, after


def test_transformers_loads_the_exported_weights(exported: Any, shallow: Path) -> None:
    """As its configuration says, with every weight that of the run, bit for bit."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ahd.models.weights import Masters

    folder = exported[0]
    log = read(folder / "run")
    dtype = getattr(torch, log.dtype)
    masters = Masters.load(shallow, dtype, perturbation_of(log.config))
    for row in log.rows:
        masters.update(row.seeds, row.weights, row.alpha)
    assert masters.hash() == log.hashes[log.number]
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype="auto", local_files_only=True)
    assert model.dtype == dtype
    found = dict(model.named_parameters())
    assert found.keys() == masters.arrays.keys()
    for name, array in masters.arrays.items():
        assert torch.equal(found[name].detach(), torch.from_numpy(array).to(dtype)), name
    assert np.any(masters.arrays["model.norm.weight"] != Masters.load(shallow).arrays["model.norm.weight"])
    tokenizer = AutoTokenizer.from_pretrained(folder / "model", local_files_only=True)
    assert tokenizer.chat_template


def test_the_exported_model_gives_the_same_greedy_replies(exported: Any) -> None:
    """In a new engine, word for word what the run's model answered after its updates, which changed it."""
    folder, before, after = exported
    log = read(folder / "run")
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, str(folder / "model"), log.dtype, json.dumps(PROMPTS)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    found, replies = json.loads(done.stdout)
    assert replies == after != before
    if log.dtype == "float32":
        assert found == log.hashes[log.number]
