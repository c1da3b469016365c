"""e1: explore, with something unlike the parents."""

from operators.operator import PromptOperator

operator = PromptOperator(
    name="e1",
    parents=None,
    perturbs=False,
    free=(
        "Design a heuristic that works in a totally different way from all of these: "
        "another idea, not another form of the same one."
    ),
    skeleton="another kind of formula, such as a ratio, a power or a product:",
)
