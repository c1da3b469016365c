"""Several copies of a model, each in a process of its own, on one machine or on a Ray cluster.

Each replica answers a share of the requests, whole directions at a time, and all of them apply the same
updates, so that only text, seeds and weights of directions travel: a few hundred bytes an update. The log of
updates is kept here. A replica that dies is replaced by a new one that replays the log, and one whose weights
differ from the others' is brought back the same way.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ahd.models import cluster
from operators.model import Direction, Model, ModelError, Reply, Request, UpdateRefused, UpdateReport

Update = tuple[tuple[int, ...], tuple[float, ...], float]
"""Seeds, weights and alpha of one update."""

START_SECONDS = 1800
"""Longest that a replica may take to start, its model's loading included."""
_TRIES = 3
"""A replica that dies so many times without an answer in between is given up."""


class _Lost(Exception):
    """The process of a replica is gone."""


def shares(directions: Sequence[Direction | None], replicas: int) -> list[list[int]]:
    """Which requests each replica answers, by index, ascending.

    Requests of one direction stay together; unperturbed ones are independent. The largest groups are
    dealt first, in order of appearance, each to the replica that has the fewest requests so far.
    """
    groups: dict[Direction | int, list[int]] = {}
    for index, direction in enumerate(directions):
        groups.setdefault(index if direction is None else direction, []).append(index)
    dealt: list[list[int]] = [[] for _ in range(replicas)]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(dealt, key=len).extend(group)
    return [sorted(share) for share in dealt]


class Replicas:
    """Implements ``operators.model.Model`` by copies of one model, in Ray actors.

    A replica takes one CPU and, where the cluster has GPUs, one GPU. Not safe for use from several threads
    at once. One object per process.

    Args:
        build: makes a model in the process of a replica; it is pickled.
        replicas: how many.
        address: of a running Ray cluster this machine belongs to; empty: one is started here and stopped by
            ``close``.
        tell: is given one line when a replica is replaced or brought back.

    Raises:
        ConfigError: Ray is not installed, nothing answers at the address, the cluster is too small, or the
            model cannot be built.
        ModelError: the replicas do not start, or differ from the start.
    """

    def __init__(
        self,
        build: Callable[[], Model],
        replicas: int,
        address: str = "",
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._build = build
        self._tell = tell
        self._log: list[Update] = []
        self._failures = [0] * replicas
        self._torn = False
        self._closed = False
        self._actors: list[Any] = []
        self._ray = cluster.connect(replicas, address)
        try:
            self._actor = cluster.actor(self._ray, _Replica, replicas)
            self._actors = [self._start() for _ in range(replicas)]
            about = self._on_all("about", timeout=START_SECONDS)
            if len(set(about)) > 1:
                raise ModelError(
                    f"replicas start from different models ({_names(about)}): install one on all"
                )
            self._name, self._parameters, _ = about[0]
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        return self._name

    @property
    def parameters(self) -> int:
        return self._parameters

    def generate(
        self, requests: Sequence[Request], directions: Sequence[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield ``(index, reply)`` as replies finish; see ``operators.model.Model``.

        The seconds of a reply are those of its replica divided by the number of replicas at work, so that
        they still add up to about the time that passes here. When the iterator is closed early, each replica
        stops at its next reply, before it does anything else.

        Raises:
            ConfigError: a prompt leaves no room for a reply.
            ModelError: the model is closed, an update was interrupted half way, or a replica keeps dying.
        """
        if len(requests) != len(directions):
            raise ValueError(f"{len(requests)} requests but {len(directions)} directions")
        self._check_usable()
        dealt = enumerate(shares(directions, len(self._actors)))
        waiting = {number: share for number, share in dealt if share}
        active = len(waiting)
        streams = {self._ask(number, waiting[number], requests, directions): number for number in waiting}
        try:
            while streams:
                (stream,), _ = self._ray.wait(list(streams), num_returns=1)
                number = streams[stream]
                try:
                    index, reply = self._get(next(stream))
                except StopIteration:
                    del streams[stream]
                    continue
                except _Lost as lost:
                    del streams[stream]
                    self._replace(number, lost)
                    streams[self._ask(number, waiting[number], requests, directions)] = number
                    continue
                self._failures[number] = 0
                waiting[number].remove(index)
                seconds, moving = reply.seconds / active, reply.perturb_seconds / active
                yield index, replace(reply, seconds=seconds, perturb_seconds=moving)
        finally:
            for stream in streams:
                self._ray.cancel(stream)

    def update(self, seeds: Sequence[int], weights: Sequence[float], alpha: float) -> UpdateReport:
        """Move the weights of every replica; see ``operators.model.Model``.

        Raises:
            ModelError: the model is closed, an earlier update was interrupted half way, a replica keeps
                dying, or one has other weights than the others even after a replay of the log.
            UpdateRefused: a weight would leave the range of its format.
        """
        self._check_usable()
        started = time.perf_counter()
        entry = tuple(map(int, seeds)), tuple(map(float, weights)), float(alpha)
        self._torn = True
        _, report = self._agree("update", *entry)
        self._torn = False
        if isinstance(report, str):
            raise UpdateRefused(report)
        self._log.append(entry)
        return replace(report, seconds=time.perf_counter() - started)

    def reset(self) -> None:
        """See ``operators.model.Model``. An update that was interrupted half way is mended by it."""
        self._check_open()
        self._torn = True
        self._log.clear()
        self._on_all("reset")
        self._torn = False

    def weights_hash(self) -> str:
        """The hash all replicas agree on.

        Raises:
            ModelError: as ``update``.
        """
        self._check_usable()
        return str(self._agree("hash")[0])

    def close(self) -> None:
        """End the replicas, and the cluster if it was started here. May be called twice."""
        if self._closed:
            return
        self._closed = True
        for actor in self._actors:
            self._ray.kill(actor)
        self._ray.shutdown()

    def _check_open(self) -> None:
        if self._closed:
            raise ModelError("the model is closed")

    def _check_usable(self) -> None:
        self._check_open()
        if self._torn:
            raise ModelError("an update of the weights was interrupted: resume the run to rebuild them")

    def _start(self) -> Any:
        return self._actor.remote(self._build, list(self._log))

    def _ask(
        self,
        number: int,
        indices: list[int],
        requests: Sequence[Request],
        directions: Sequence[Direction | None],
    ) -> Any:
        """Let a replica answer some of the requests; the stream of its replies."""
        asked, along = ([each[index] for index in indices] for each in (requests, directions))
        generate = self._actors[number].generate.options(num_returns="streaming")
        return generate.remote(indices, asked, along)

    def _replace(self, number: int, lost: _Lost) -> None:
        """Put a new process, with the log replayed, in the place of a dead one; wait until it is up."""
        while True:
            self._failures[number] += 1
            if self._failures[number] >= _TRIES:
                self._failures[number] = 0
                raise ModelError(f"replica {number} died {_TRIES} times in a row: {lost}")
            self._tell(f"replica {number} died: starting another ({lost})")
            self._ray.kill(self._actors[number])
            self._actors[number] = self._start()
            try:
                self._get(self._actors[number].about.remote(), START_SECONDS)
                return
            except _Lost as again:
                lost = again

    def _agree(self, method: str, *arguments: Any) -> tuple[str, Any]:
        """Call a method that answers with a hash on all replicas. If the hashes differ, rebuild all weights
        from the log and call it once more."""
        answers = self._on_all(method, *arguments)
        if len({answer[0] for answer in answers}) > 1:
            self._tell("the weights of the replicas differ: rebuilding them from the log of updates")
            self._on_all("rebuild", self._log)
            answers = self._on_all(method, *arguments)
        hashes = [answer[0] for answer in answers]
        if len(set(hashes)) > 1:
            usual = max(hashes, key=hashes.count)
            wrong = ", ".join(str(number) for number, each in enumerate(hashes) if each != usual)
            raise ModelError(
                f"replica {wrong} has other weights than replica {hashes.index(usual)} after a replay of the "
                "log: are ahd and its libraries the same on all machines?"
            )
        return answers[0]

    def _on_all(self, method: str, *arguments: Any, timeout: float | None = None) -> list[Any]:
        """The answers of all replicas, in order, to one call; dead ones are replaced and asked again."""

        def call(number: int) -> Any:
            return getattr(self._actors[number], method).remote(*arguments)

        def answer(number: int, reference: Any) -> Any:
            while True:
                try:
                    result = self._get(reference, timeout)
                except _Lost as lost:
                    self._replace(number, lost)
                    reference = call(number)
                else:
                    self._failures[number] = 0
                    return result

        return [answer(*each) for each in enumerate([call(number) for number in range(len(self._actors))])]

    def _get(self, reference: Any, timeout: float | None = None) -> Any:
        """The result of a call; what the call raised is raised here.

        Raises:
            _Lost: the replica died before it answered.
            ModelError: no answer in time.
        """
        failures = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=timeout)
        except failures.RayTaskError as error:
            raise error.cause from None
        except failures.GetTimeoutError:
            raise ModelError(
                f"a replica did not start within {timeout} s: see whether the Ray cluster has room for it"
            ) from None
        except failures.RayError as error:
            text = " ".join(str(error).split())
            raise _Lost((text.partition("is dead because ")[2] or text).partition(". ")[0]) from None


class _Replica:
    """What runs in the process of a replica: the model, with the updates of a log applied to it.

    The model is built by the first call, so that what goes wrong is raised by a call.
    """

    def __init__(self, build: Callable[[], Model], log: list[Update]) -> None:
        self._build = build
        self._log = log

    @cached_property
    def _model(self) -> Model:
        model = self._build()
        for entry in self._log:
            model.update(*entry)
        return model

    def about(self) -> tuple[str, int, str]:
        """Name, number of weights, hash."""
        return self._model.name, self._model.parameters, self._model.weights_hash()

    def generate(
        self, indices: list[int], requests: list[Request], directions: list[Direction | None]
    ) -> Iterator[tuple[int, Reply]]:
        """The replies with the caller's indices; ends after the next reply when the call is cancelled."""
        import ray

        context = ray.get_runtime_context()
        for index, reply in self._model.generate(requests, directions):
            yield indices[index], reply
            if context.is_canceled():
                return

    def update(self, *entry: Any) -> tuple[str, UpdateReport | str]:
        """Hash after the update and report, or the reason why there was none."""
        try:
            report = self._model.update(*entry)
        except UpdateRefused as refusal:
            return "refused", str(refusal)
        return report.weights_hash, report

    def hash(self) -> tuple[str, None]:
        return self._model.weights_hash(), None

    def reset(self) -> None:
        self._model.reset()

    def rebuild(self, log: list[Update]) -> None:
        """Base weights plus the updates of the log."""
        self._model.reset()
        for entry in log:
            self._model.update(*entry)


def _names(about: list[tuple[str, int, str]]) -> str:
    return ", ".join(f"{name} {weights[:8]}" for name, _, weights in about)
