"""The documentation shows the prompts that are sent."""

from tests.operators.prompt_examples import MARK, PAGE, render_examples


def test_examples_are_what_the_code_renders() -> None:
    """After a change of a prompt run ``python -m tests.operators.prompt_examples``."""
    assert PAGE.read_text().partition(MARK)[2].strip() == render_examples().strip()
