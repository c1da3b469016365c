"""The arrays of the public benchmarks, as this package draws them."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from problems import cvrp_aco, registry, tsp_aco

DATA = Path(__file__).parents[3] / "shared" / "data" / "ahd-benchmark"
FOLDERS = {
    "bpp_offline_aco": "bpp-aco",
    "cvrp_aco": "cvrp-aco",
    "kp_constructive": "knapsack",
    "tsp_aco": "tsp-aco",
    "tsp_constructive": "tsp",
}
OTHER_STREAM = {"tsp-aco": tsp_aco._draw, "cvrp-aco": cvrp_aco._draw}
"""Problems whose public test instances of size 20 are drawn before the larger ones."""
TEST_20 = {"tsp-aco": "5043448fbeddf7b8", "cvrp-aco": "70f3df98422e527d"}


def drawn(name: str, split: str, size: int) -> np.ndarray:
    problem = registry.load(name)
    if size in problem.sizes[split]:
        return problem.instances(split, size)
    return OTHER_STREAM[name](np.random.RandomState, (20, 50, 100))[split, size]


def test_every_public_array_is_drawn_bit_for_bit() -> None:
    """Each file of the folder, but for the column of the demand, which is the first one in public files."""
    if not DATA.is_dir():
        pytest.skip("the public arrays are not at hand")
    seen = 0
    for file in sorted(DATA.rglob("*_dataset.np?")):
        name = FOLDERS[file.parent.name]
        parts = re.match(r"([a-z]+)(\d+)_", file.name)
        assert parts is not None
        split, size = parts[1], int(parts[2])
        loaded = np.load(file)
        public = loaded if isinstance(loaded, np.ndarray) else next(iter(loaded.values()))
        ours = drawn(name, split, size)
        if name == "cvrp-aco":
            ours = ours[:, :, [2, 0, 1]]
        assert ours.shape == public.shape, file
        np.testing.assert_array_equal(ours, public, err_msg=str(file))
        seen += 1
    assert seen == 36


@pytest.mark.parametrize("name", TEST_20)
def test_the_stream_that_tests_twenty_nodes(name: str) -> None:
    """Pinned by its hash, for machines without the public files; train and val are those of the other."""
    other = OTHER_STREAM[name](np.random.RandomState, (20, 50, 100))
    assert hashlib.sha256(other["test", 20].tobytes()).hexdigest().startswith(TEST_20[name])
    problem = registry.load(name)
    for split in ("train", "val"):
        for size in problem.sizes[split]:
            np.testing.assert_array_equal(other[split, size], problem.instances(split, size))
