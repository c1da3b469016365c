"""i1: a new heuristic from the problem alone."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="i1",
    parents=0,
    perturbs=False,
    free="Design a new heuristic for this task.",
    skeleton="a sum of the arrays with weights, such as 0.4 or -0.7, or a product:",
)
