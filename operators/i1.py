"""i1: a new heuristic from the problem alone."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="i1",
    parents=0,
    perturbs=False,
    free="Design a new heuristic for this task.",
    skeleton="one number per entry, with weights such as 0.2 or 1.5:",
)
