"""Shared sandboxes."""

from collections.abc import Iterator

import pytest

from evaluators.sandbox import Sandbox
from problems.knapsack import problem as knapsack
from problems.tsp import problem as tsp


@pytest.fixture(scope="session")
def tsp_sandbox() -> Iterator[Sandbox]:
    with Sandbox(tsp, memory_mb=512) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def knapsack_sandbox() -> Iterator[Sandbox]:
    with Sandbox(knapsack, memory_mb=512) as sandbox:
        yield sandbox
