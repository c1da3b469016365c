"""What a batch asks of the model: it depends on the run's seed, the population and earlier proposals only."""

from collections.abc import Sequence
from dataclasses import dataclass

from ahd.config import RunConfig, Style
from ahd.memory import Notes, no_notes
from ahd.population import Individual, Population
from ahd.schedule import Batch
from ahd.seeds import derive, generator
from ahd.style import SAMPLING, prompt_style
from operators.grammar import LONGEST, reply_grammar
from operators.model import Direction, Request
from operators.prompt import Prompt
from operators.registry import OPERATORS
from problems.problem import Problem


@dataclass(frozen=True)
class Task:
    """One proposal before it is made. ``direction`` is None when the weights stay as they are. A ``draft``
    stands for the reply where no model is asked."""

    batch: Batch
    slot: int
    parents: tuple[Individual, ...]
    prompt: Prompt
    request_seed: int
    direction: Direction | None
    draft: str = ""


def plan_batch(
    config: RunConfig,
    style: Style,
    problem: Problem,
    batch: Batch,
    sigma: float,
    population: Population,
    notes: Notes = no_notes,
) -> list[Task]:
    """The proposals of a batch in the order of their slots; ``sigma`` is the scale of its directions, and
    ``notes`` gives the notes of each prompt."""
    operator = OPERATORS[batch.operator]
    rng = generator(config.seed, "parents", batch.number)
    tasks = []
    for slot in range(batch.proposals):
        wanted = config.parents if operator.parents is None else operator.parents
        parents = tuple(population.select(wanted, rng))
        prompt = operator.prompt(problem, parents, prompt_style(style), notes=notes(slot, parents))
        direction = direction_of(config, batch, slot, sigma) if batch.perturbed else None
        request_seed = derive(config.seed, "request", batch.number, slot)
        tasks.append(Task(batch, slot, parents, prompt, request_seed, direction))
    return tasks


def direction_of(config: RunConfig, batch: Batch, slot: int, sigma: float) -> Direction:
    """The direction of a slot. ``per_direction`` slots in a row share one; antithetic directions come in
    pairs of one seed, the second with ``-sigma``."""
    number, mirrored = slot // config.per_direction, 0
    if config.antithetic:
        number, mirrored = divmod(number, 2)
    return Direction(derive(config.seed, "direction", batch.number, number), -sigma if mirrored else sigma)


def directions_of(tasks: Sequence[Task], per_direction: int) -> list[Direction]:
    """The directions of a perturbed batch, each once, in the order of the slots."""
    return [task.direction for task in tasks[::per_direction] if task.direction is not None]


def request_of(config: RunConfig, style: Style, problem: Problem, task: Task) -> Request:
    """What the model is asked; sampling as configured, else as usual for the style. Under a grammar a reply
    may have as many tokens as characters, so that it always comes to its end."""
    usual = SAMPLING[style]
    temperature = config.temperature
    if task.batch.number > 0 and config.search_temperature is not None:
        temperature = config.search_temperature
    tokens = config.max_tokens or (LONGEST if config.structured else task.prompt.max_tokens)
    return Request(
        prompt=task.prompt.text,
        seed=task.request_seed,
        prefill=task.prompt.prefill,
        stop=task.prompt.stop,
        max_tokens=tokens,
        temperature=usual.temperature if temperature is None else temperature,
        top_p=usual.top_p if config.top_p is None else config.top_p,
        grammar=reply_grammar(problem.skeleton, task.prompt.stop, tokens) if config.structured else "",
    )
