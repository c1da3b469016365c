"""m2: modify the parameters of one parent."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="m2",
    parents=1,
    perturbs=True,
    free=(
        "Find the main parameters of its scoring: constants, weights, exponents, thresholds. Write a "
        "heuristic of the same structure with other parameter settings that should score better."
    ),
    skeleton="better, with other weights:",
)
