"""Every random choice of a run as a pure function of its seed and of what the choice is for."""

import hashlib
import random


def derive(seed: int, *purpose: int | str, bits: int = 31) -> int:
    """An integer of ``bits`` bits from the run's seed and the purpose, the same in every process."""
    text = "/".join(map(str, (seed, *purpose)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - bits)


def generator(seed: int, *purpose: int | str) -> random.Random:
    """A generator of its own for one purpose."""
    return random.Random(derive(seed, *purpose, bits=64))
