"""e2: explore, with something new on the idea the parents have in common."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="e2",
    parents=None,
    perturbs=False,
    free=(
        "First find the backbone: the idea these heuristics have in common. Then design a new heuristic "
        "that is built on this idea but has parts that none of them has."
    ),
    skeleton="all terms of these, with new weights:",
)
