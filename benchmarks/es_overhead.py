"""What evolution strategies on the live weights cost beside generating text.

Prints seconds for perturbing, restoring and updating, tokens per second by batch size, and the share of ES
work in a run whose directions generate one reply each. Run it on an otherwise idle machine:
``python benchmarks/es_overhead.py [--model NAME] [--tokens 48] [--directions 10]``.
"""

import argparse
import time
from collections.abc import Callable

from ahd.models.runtime import reexec_with_preload


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--directions", type=int, default=10)
    options = parser.parse_args()
    reexec_with_preload()

    from ahd.models.live import LiveModel
    from operators.model import Direction, Request

    model = LiveModel(options.model)
    prompt = "Write one line of Python that scores the next city of a tour. " * 12
    count = options.directions

    def requests(number: int, tokens: int) -> list[Request]:
        return [Request(prompt, seed=i, prefill="score =", max_tokens=tokens) for i in range(number)]

    list(model.generate(requests(1, 4), [Direction(1, 1e-3)]))
    print(f"model {model.name}, {model.parameters / 1e6:.1f} million weights")
    for batch in (1, 8, 16, 32):
        started = time.perf_counter()
        replies = [reply for _, reply in model.generate(requests(batch, options.tokens), [None] * batch)]
        rate = sum(reply.completion_tokens for reply in replies) / (time.perf_counter() - started)
        print(f"batch {batch:2d}: {rate:6.1f} tokens/s, prompt of {replies[0].prompt_tokens} tokens included")

    replies = [
        reply
        for _, reply in model.generate(
            requests(count, options.tokens), [Direction(i, 1e-3) for i in range(count)]
        )
    ]
    perturbing = sum(reply.perturb_seconds for reply in replies)
    generating = sum(reply.seconds for reply in replies)
    updating = timed(lambda: model.update(range(count), [1e-9] * count, 1e-9))
    share = (perturbing + updating) / (perturbing + updating + generating)
    print(f"{count} directions: generating {generating:.2f} s, perturbing {perturbing:.2f} s")
    print(f"update of {count} directions: {updating:.2f} s, hash of the weights included")
    print(f"share of ES work: {share:.1%}")
    model.close()


if __name__ == "__main__":
    main()
