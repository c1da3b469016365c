"""Which of the kernel's layers confine candidates here, beyond what any process can give up by itself."""

from enum import StrEnum

from evaluators import landlock, seccomp
from evaluators.outcome import SandboxError


class Mode(StrEnum):
    """How much confinement a sandbox insists on."""

    STRICT = "strict"
    AUTO = "auto"
    OFF = "off"


class Layer(StrEnum):
    """A layer that not every machine has."""

    LANDLOCK = "landlock"
    SECCOMP = "seccomp"


class LayerMissing(SandboxError):
    """``strict`` was asked for and a layer is missing. The message says which, why, and what to do."""


def missing() -> dict[Layer, str]:
    """Layers that this machine lacks, and why."""
    found = {}
    if landlock.version() == 0:
        found[Layer.LANDLOCK] = "the kernel has none (Linux 5.13 or later, with landlock among its modules)"
    reason = seccomp.missing()
    if reason:
        found[Layer.SECCOMP] = reason
    return found


def chosen(mode: Mode) -> frozenset[Layer]:
    """The layers to apply: all there are, or none when switched off.

    Raises:
        LayerMissing: ``mode`` is strict and this machine lacks one.
    """
    if mode is Mode.OFF:
        return frozenset()
    lacking = missing()
    if mode is Mode.STRICT and lacking:
        reasons = "; ".join(f"no {layer}: {reason}" for layer, reason in lacking.items())
        raise LayerMissing(f"--sandbox strict: {reasons}; use --sandbox auto to go on without")
    return frozenset(Layer) - lacking.keys()


def told(layers: frozenset[Layer]) -> str:
    """The level in force, for people."""
    if not layers:
        return "limits only"
    return "limits, " + ", ".join(layer for layer in Layer if layer in layers)
