"""``ahd run --dry-run``: what the model would be asked, one prompt per operator."""

from ahd.config import Insights, RunConfig, Style
from ahd.es.perturbation import perturbation_of
from ahd.models.load import model_parameters
from ahd.population import Individual
from ahd.schedule import plan
from ahd.scoring import failed_itself
from ahd.structured import check_style, grammar_of
from ahd.style import prompt_style, resolve_style
from evaluators.layers import Mode
from evaluators.sandbox import Sandbox
from operators.parsing import completion_in
from operators.registry import OPERATORS
from problems.check import check_instances
from problems.registry import load


def print_prompts(config: RunConfig) -> None:
    """Print the schedule and one prompt per operator, the problem's known heuristics as parents.

    In skeleton style those that fill the skeleton, as all parents of a search do; all where none does. Notes
    on earlier attempts, which there are none of, are shown by what they would tell.

    Raises:
        ConfigError: if the model cannot be found, the scope is no regular expression, or none of the known
            heuristics scores.
        UnknownProblem, BrokenProblemFile: if the problem cannot be loaded.
        SandboxError: the problem or the sandbox does not work.
    """
    perturbation_of(config)
    problem = load(config.problem, config.problem_path or None)
    check_instances(problem)
    parameters = model_parameters(config.model) if config.style is Style.AUTO else 0
    style = resolve_style(config.style, parameters)
    check_style(config, style)
    limit = config.timeout or None
    with Sandbox(problem, memory_mb=config.memory_mb, time_limit=limit, mode=Mode(config.sandbox)) as sandbox:
        futures = {name: sandbox.submit(code) for name, code in problem.heuristics.items()}
        outcomes = {name: future.result() for name, future in futures.items()}
    known = [
        Individual(objective, code, completion_in(code, problem), "", None, name)
        for name, code in problem.heuristics.items()
        if (objective := outcomes[name].objective) is not None
    ]
    if not known:
        name = problem.simplest[0]
        raise failed_itself(problem, name, outcomes[name])
    print(f"schedule: {plan(config.method, config.budget, config.tune).description}")
    print(f"style: {style.value}")
    if style is Style.SKELETON:
        known = [each for each in known if each.completion] or known
    notes = ["(insights)"] * (config.insights is not Insights.OFF)
    notes += ["(why an attempt failed)"] * config.feedback
    for name, operator in OPERATORS.items():
        wanted = config.parents if operator.parents is None else operator.parents
        parents = sorted(known, key=lambda each: each.objective)[:wanted]
        told = () if name == "i1" and config.method.evolves else notes
        prompt = operator.prompt(problem, parents, prompt_style(style), notes=told)
        print(f"\n===== {name}: message =====\n{prompt.text}")
        if prompt.prefill:
            print(f"----- {name}: the reply is made to start with -----\n{prompt.prefill}")
    if config.structured:
        print(f"\n===== the grammar of what follows =====\n{grammar_of(config, problem)}")
