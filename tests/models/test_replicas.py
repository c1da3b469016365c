"""Replicas: the same model as one, whatever happens to a replica. They run on a real Ray cluster."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahd.config import ConfigError
from ahd.models import cluster, replicas
from ahd.models.replicas import Replicas, shares
from operators.model import Direction, Model, ModelError, Reply, Request, UpdateRefused

DIRECTIONS = st.lists(
    st.one_of(st.none(), st.builds(Direction, st.integers(0, 5), st.just(0.1))), max_size=60
)
UPDATES = [([1, 2, 1], [1.0, -0.5, 0.25], 0.3), ([7], [2.0], 0.1)]


def scripted() -> Callable[[], Model]:
    """Makes a scripted model that writes what depends on its weights, and misbehaves when it is asked to."""

    def build() -> Model:
        from ahd.models.scripted import ScriptedModel

        def write(request: Request, weights: Any) -> str:
            word, _, path = request.prompt.partition(" ")
            if word == "wait":
                time.sleep(0.1)
            elif word == "pid":
                return str(os.getpid())
            elif word == "die" and (not path or not os.path.exists(path)):
                if path:
                    open(path, "w").close()
                os._exit(1)
            elif word == "fail":
                raise ConfigError("--model scripted: asked to fail")
            elif word in ("tamper", "spoil"):
                model._masters.arrays["script.norm.weight"][0] += 1
                if word == "spoil":
                    model.reset = lambda: None  # type: ignore[method-assign]
            return f"{request.seed} {float(weights.sum()):.6f}"

        model = ScriptedModel(write)
        return model

    return build


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A Ray cluster of this machine, started for these tests."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 2, "num_gpus": 0, "object_store_memory": 80 << 20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    yield made.address
    made.shutdown()


@pytest.fixture(scope="module")
def started(address: str) -> Iterator[tuple[Replicas, list[str]]]:
    told: list[str] = []
    pair = Replicas(scripted(), 2, address, tell=told.append)
    yield pair, told
    pair.close()


@pytest.fixture
def pair(started: tuple[Replicas, list[str]]) -> Replicas:
    """Two replicas with the base weights."""
    model, told = started
    model.reset()
    told.clear()
    return model


@pytest.fixture
def told(started: tuple[Replicas, list[str]]) -> list[str]:
    return started[1]


@pytest.fixture
def one() -> Model:
    """The same model in this process."""
    return scripted()()


def ask(model: Model, requests: list[Request], directions: list[Direction | None]) -> list[Reply]:
    """The replies in order; each request is answered exactly once."""
    found = list(model.generate(requests, directions))
    assert sorted(index for index, _ in found) == list(range(len(requests)))
    return [reply for _, reply in sorted(found, key=lambda each: each[0])]


def texts(model: Model, requests: list[Request], directions: list[Direction | None]) -> list[str]:
    return [reply.text for reply in ask(model, requests, directions)]


def processes(pair: Replicas) -> list[int]:
    return [int(text) for text in texts(pair, [Request("pid", 1), Request("pid", 2)], [None, None])]


@given(DIRECTIONS, st.integers(1, 5))
def test_shares_are_whole_directions_and_balanced(directions: list[Direction | None], count: int) -> None:
    """Every request is dealt once, no direction is split, and no share exceeds another by more than the
    largest group: by one request where nothing is perturbed."""
    dealt = shares(directions, count)
    assert sorted(index for share in dealt for index in share) == list(range(len(directions)))
    owners: dict[Direction, set[int]] = {}
    for number, share in enumerate(dealt):
        assert share == sorted(share)
        for index in share:
            if (direction := directions[index]) is not None:
                owners.setdefault(direction, set()).add(number)
    assert all(len(numbers) == 1 for numbers in owners.values())
    largest = max([1, *(directions.count(direction) for direction in owners)])
    assert max(map(len, dealt)) - min(map(len, dealt)) <= largest


def test_two_replicas_are_one_model(pair: Replicas, one: Model) -> None:
    """Same name, size, replies and hash after each update as a single model."""
    requests = [Request("p", seed) for seed in range(12)]
    directions = [None if i % 4 == 0 else Direction(i // 3, -0.1 if i % 2 else 0.1) for i in range(12)]
    assert (pair.name, pair.parameters, pair.weights_hash()) == (
        one.name,
        one.parameters,
        one.weights_hash(),
    )
    assert len(set(processes(pair))) == 2
    for update in UPDATES:
        assert texts(pair, requests, directions) == texts(one, requests, directions)
        ours, theirs = pair.update(*update), one.update(*update)
        assert (ours.weights_hash, ours.norm, ours.moved) == (
            theirs.weights_hash,
            theirs.norm,
            theirs.moved,
        )
        assert pair.weights_hash() == one.weights_hash()
    assert texts(pair, requests, directions) == texts(one, requests, directions)
    base = scripted()().weights_hash()
    pair.reset()
    assert pair.weights_hash() == base
    assert list(pair.generate([], [])) == []


def test_a_replica_killed_while_it_generates_loses_nothing(
    pair: Replicas, told: list[str], one: Model, tmp_path: Path
) -> None:
    """Its unanswered requests are answered by its successor, under the updated weights; none twice."""
    for model in (pair, one):
        for update in UPDATES:
            model.update(*update)
    requests = [Request("wait", seed) for seed in range(10)]
    requests[4] = Request(f"die {tmp_path / 'died'}", 4)
    directions = [Direction(i // 2, 0.1) for i in range(10)]
    found = texts(pair, requests, directions)
    assert found == texts(one, requests, directions)
    assert pair.weights_hash() == one.weights_hash()
    assert len(told) == 1
    assert "died" in told[0]


def test_a_replica_killed_between_updates_loses_nothing(pair: Replicas, told: list[str], one: Model) -> None:
    """Its successor replays the log, refused updates left out, and takes part in the next update."""
    first, second = UPDATES
    pair.update(*first)
    with pytest.raises(UpdateRefused):
        pair.update([1], [1.0], 1e39)
    os.kill(processes(pair)[1], signal.SIGKILL)
    one.update(*first)
    assert pair.update(*second).weights_hash == one.update(*second).weights_hash
    assert len(told) == 1


def test_a_tampered_replica_is_found_and_mended(pair: Replicas, told: list[str], one: Model) -> None:
    """Other weights in one replica show in the hash after the next update; a replay of the log mends them."""
    first, second = UPDATES
    pair.update(*first)
    texts(pair, [Request("tamper", 1)], [None])
    one.update(*first)
    assert pair.update(*second).weights_hash == one.update(*second).weights_hash
    assert len(told) == 1
    assert "rebuilding" in told[0]
    assert texts(pair, [Request("p", 1)] * 2, [None] * 2) == texts(one, [Request("p", 1)] * 2, [None] * 2)


def test_closing_early_leaves_the_replicas_ready(pair: Replicas, one: Model) -> None:
    """What was not yet written is not written, and the next call finds the weights as they were."""
    replies = pair.generate([Request("wait", seed) for seed in range(200)], [Direction(3, 0.1)] * 200)
    next(replies)
    replies.close()  # type: ignore[attr-defined]
    began = time.monotonic()
    assert pair.weights_hash() == one.weights_hash()
    assert time.monotonic() - began < 10
    assert texts(pair, [Request("p", 1)], [None]) == texts(one, [Request("p", 1)], [None])


def test_seconds_are_those_that_pass_here(pair: Replicas) -> None:
    """Two replicas that work at the same time do not count twice."""
    began = time.monotonic()
    replies = ask(pair, [Request("wait", seed) for seed in range(20)], [None] * 20)
    passed = time.monotonic() - began
    assert 0.9 < sum(reply.seconds + reply.perturb_seconds for reply in replies) <= passed


def test_errors_of_a_replica_are_raised_as_they_are(pair: Replicas) -> None:
    """What a single model would raise is raised, and the replicas go on."""
    with pytest.raises(ConfigError, match=r"^--model scripted: asked to fail$"):
        texts(pair, [Request("fail", 1), Request("p", 2)], [None, None])
    assert len(set(processes(pair))) == 2


def test_a_replica_that_keeps_dying_is_an_error(pair: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that kills its replica each time does not go on for ever."""
    monkeypatch.setattr(replicas, "_TRIES", 2)
    with pytest.raises(ModelError, match="replica 0 died 2 times in a row: its worker process has died"):
        texts(pair, [Request("die", 1)], [None])


def test_weights_that_no_replay_mends_are_an_error(pair: Replicas) -> None:
    """The error names the replicas that differ; after it the model is not used until it is reset."""
    victim = processes(pair)[1]
    texts(pair, [Request("p", 1), Request("spoil", 2)], [None, None])
    with pytest.raises(ModelError, match="replica 1 has other weights than replica 0"):
        pair.update(*UPDATES[0])
    with pytest.raises(ModelError, match="interrupted"):
        pair.weights_hash()
    os.kill(victim, signal.SIGKILL)
    pair.reset()
    assert pair.weights_hash() == scripted()().weights_hash()


def test_too_small_a_cluster_is_refused() -> None:
    """The message names the option, what is missing and what to do."""
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 64.0, "GPU": 2.0})
    with pytest.raises(ConfigError, match=r"^--replicas 3: each needs a GPU .* has 2: give fewer"):
        cluster.actor(ray, object, 3)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is optional: one line says how to get it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"^--replicas 2: needs Ray .*pip install 'ahd-search\[ray\]'"):
        Replicas(scripted(), 2)


@pytest.mark.parametrize("wrong", ["127.0.0.1:1", "nowhere", "ray://127.0.0.1:1"])
def test_an_address_without_a_cluster_is_refused_at_once(wrong: str) -> None:
    """Ray itself would try for minutes."""
    pytest.importorskip("ray")
    began = time.monotonic()
    with pytest.raises(ConfigError, match=f"^--ray-address {wrong}: nothing listens there"):
        Replicas(scripted(), 2, wrong)
    assert time.monotonic() - began < 10


OWN_CLUSTER = """
    import os, signal, time
    from ahd.models.replicas import Replicas
    from ahd.models.scripted import scripted_tsp
    from operators.model import Request

    signal.signal(signal.SIGINT, handler := lambda *_: None)
    signal.signal(signal.SIGTERM, handler)
    model = Replicas(scripted_tsp, 2)
    assert signal.getsignal(signal.SIGTERM) is handler
    replies = model.generate([Request("p", seed) for seed in range(50)], [None] * 50)
    next(replies)
    os.killpg(0, signal.SIGINT)
    assert len(list(replies)) == 49
    model.update([1, 2], [1.0, -1.0], 0.1)
    model.close()
    model.close()
"""


@pytest.mark.slow
def test_a_cluster_of_its_own_is_quiet_and_survives_ctrl_c() -> None:
    """Without an address a local cluster is started. It prints nothing, leaves the handlers of signals alone,
    does not die of a Ctrl-C that reaches every process of the terminal, and is gone after ``close``."""
    pytest.importorskip("ray")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWN_CLUSTER)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    output, _ = process.communicate(timeout=120)
    assert (process.returncode, output) == (0, "")
