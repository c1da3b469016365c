"""A heuristic that operators build on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parent:
    """One member of the population as the prompts show it.

    ``objective`` is minimised; ``completion`` is the text of the hole when the code is an instance of
    the problem's skeleton, else empty; ``thought`` is the model's own one-line description, if any.
    """

    objective: float
    code: str
    completion: str = ""
    thought: str = ""
