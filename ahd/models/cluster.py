"""Ray: connected to, asked for room, and kept quiet. Only here is Ray imported by the main process."""

import contextlib
import logging
import os
import signal
import socket
from typing import Any

from ahd.config import ConfigError
from ahd.models import runtime

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # What the cluster reports, the death of a replica above all, is not printed across the display.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_ANSWER_SECONDS = 10
_STORE_BYTES = 80 << 20
"""Shared memory of a local cluster, near the least Ray takes; replies do not pass through it."""


def connect(replicas: int, address: str = "") -> Any:
    """The module ``ray``, connected to the cluster at the address, or to a local one started now with room
    for the replicas. ``ray.shutdown()`` disconnects and stops the local one.

    Raises:
        ConfigError: Ray is not installed or does not start, or nothing answers at the address.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise ConfigError(
            f"--replicas {replicas}: needs Ray ({error}): pip install 'ahd-search[ray]', or use one replica"
        ) from None
    settings: dict[str, Any] = {"address": address}
    if address:
        _check_address(address)
    else:
        settings = {
            "address": "local",
            "num_cpus": replicas,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
        }
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if not address:
            raise ConfigError(
                f"--replicas {replicas}: Ray does not start here ({reason}): use one replica, or a running "
                "cluster with --ray-address"
            ) from None
        raise ConfigError(
            f"--ray-address {address}: cannot connect ({reason}): join this machine to the cluster with "
            "`ray start`, or leave the option out"
        ) from None
    finally:
        # Ray puts a handler of its own in the place of the run's.
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, handler)
    return ray


def _check_address(address: str) -> None:
    """Refuse an address where nothing listens; Ray itself would try for more than ten minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, ValueError, OverflowError):
        raise ConfigError(
            f"--ray-address {address}: nothing listens there: give host:port of the cluster's head as "
            "`ray start --head` names it, or auto for the cluster this machine is part of"
        ) from None


def actor(ray: Any, kind: type, replicas: int) -> Any:
    """``kind`` as a Ray actor of one CPU and, where the cluster has GPUs, one GPU.

    Raises:
        ConfigError: the cluster is too small for so many.
    """
    resources = ray.cluster_resources()
    what = "GPU" if resources.get("GPU") else "CPU"
    if (room := int(resources.get(what, 0))) < replicas:
        raise ConfigError(
            f"--replicas {replicas}: each needs a {what} of its own and the Ray cluster has {room}: "
            "give fewer, or a larger cluster with --ray-address"
        )
    gpu = what == "GPU"
    environment = {"env_vars": {} if gpu else _cpu_environment()}
    return ray.remote(kind).options(num_cpus=1, num_gpus=int(gpu), runtime_env=environment)


def _cpu_environment() -> dict[str, str]:
    """One thread per replica, bound to no core: each engine would choose the same one."""
    values = {
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "KMP_BLOCKTIME": "0",
        "KMP_WARNINGS": "0",
    }
    library = runtime.openmp_library()
    return values | {"LD_PRELOAD": str(library)} if library else values
