"""m1: modify the structure of one parent."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="m1",
    parents=1,
    perturbs=True,
    free=(
        "Modify its structure: write a heuristic that is a changed version of this one, "
        "with a step added, removed or replaced, and that should score better."
    ),
    skeleton="better, with another term:",
)
