"""Tests side by side (``pytest -n``): each worker has a core of its own, and the longest files come first."""

import os

import pytest


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
