"""Prompts show what they have to, and lead to replies that the parser turns into candidates."""

import ast
from dataclasses import replace

import pytest

from operators.operator import Operator
from operators.parent import Parent
from operators.parsing import fill, parse_reply
from operators.prompt import Prompt, Style
from operators.registry import OPERATORS
from problems import knapsack, tsp
from problems.problem import Problem

STYLES: tuple[Style, ...] = ("skeleton", "free")
PROBLEMS = (tsp.problem, knapsack.problem)


def parents_for(operator: Operator, problem: Problem) -> list[Parent]:
    count = 2 if operator.parents is None else operator.parents
    sources = list(problem.heuristics.values())[:count]
    return [Parent(1.25 + number, code) for number, code in enumerate(sources)]


def render(name: str, problem: Problem, style: Style) -> Prompt:
    operator = OPERATORS[name]
    return operator.prompt(problem, parents_for(operator, problem), style)


def test_the_five_operators() -> None:
    """i1 needs no parent, e1 and e2 the run's number, m1 and m2 one; only m1 and m2 perturb."""
    assert {name: o.parents for name, o in OPERATORS.items()} == {
        "i1": 0,
        "e1": None,
        "e2": None,
        "m1": 1,
        "m2": 1,
    }
    assert [name for name, o in OPERATORS.items() if o.perturbs] == ["m1", "m2"]
    assert all(name == o.name for name, o in OPERATORS.items())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", OPERATORS)
def test_parents_are_shown_with_their_objectives(name: str, problem: Problem, style: Style) -> None:
    """Every parent's objective and code stand in the prompt, to the problem's decimals."""
    operator = OPERATORS[name]
    prompt = render(name, problem, style)
    for parent in parents_for(operator, problem):
        assert f"{parent.objective:.{problem.decimals}f}" in prompt.text + prompt.prefill
        shown = (
            parent.code.removeprefix(problem.skeleton.prefix).removesuffix(problem.skeleton.suffix).strip()
        )
        assert shown in prompt.text + prompt.prefill


@pytest.mark.parametrize("style", STYLES)
def test_operators_ask_for_different_things(style: Style) -> None:
    """No two operators with the same parents make the same prompt."""
    parent = [Parent(7.0, tsp.problem.simplest[1])]
    prompts = {
        name: o.prompt(tsp.problem, parent if name != "i1" else [], style) for name, o in OPERATORS.items()
    }
    assert len({(prompt.text, prompt.prefill) for prompt in prompts.values()}) == len(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_wrong_number_of_parents(name: str) -> None:
    """An operator refuses parents it cannot use."""
    operator = OPERATORS[name]
    wrong = 0 if operator.parents is None else operator.parents + 1
    with pytest.raises(ValueError, match=name):
        operator.prompt(tsp.problem, [Parent(1.0, "")] * wrong, "skeleton")


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", OPERATORS)
def test_the_prefill_is_the_skeleton_with_comments(name: str, problem: Problem) -> None:
    """Without its comments the prefill is the skeleton up to the hole, then the candidate's lead."""
    prompt = render(name, problem, "skeleton")
    code = prompt.prefill.removeprefix("```python\n")
    assert prompt.prefill != code
    assert code.endswith(prompt.lead)
    whole = f"{code.removesuffix(prompt.lead)} 0{problem.skeleton.suffix}"
    assert ast.dump(ast.parse(whole)) == ast.dump(ast.parse(fill(problem, "0")))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_stop_strings_do_not_cut_a_completion(problem: Problem) -> None:
    """A one-line completion holds no stop string, so that a reply that ends there gives it whole."""
    prompt = render("m1", problem, "skeleton")
    completion = f"{problem.skeleton.lead} - 0.3 * {problem.skeleton.lead} ** 2"
    assert not any(stop in completion for stop in prompt.stop)
    reply = completion.removeprefix(problem.skeleton.lead)
    assert parse_reply(prompt.lead + reply, problem, "skeleton").completion == completion


def test_a_skeleton_without_a_lead_has_none() -> None:
    """Then the prefill ends in the open assignment itself."""
    skeleton = replace(tsp.problem.skeleton, lead="")
    prompt = OPERATORS["i1"].prompt(replace(tsp.problem, skeleton=skeleton), [], "skeleton")
    assert prompt.lead == ""
    assert prompt.prefill.endswith(skeleton.prefix.rsplit("\n", 1)[-1])


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("def f(a):\n    '''Doc.'''\n    b = a + 1\n    return b\n", "b = a + 1; return b"),
        ("not python (", "not python ("),
        ("x = 1\ny = 2", "x = 1; y = 2"),
    ],
)
def test_parents_without_a_completion_are_shown_by_their_statements(code: str, shown: str) -> None:
    """A parent that does not come from the skeleton is no obstacle."""
    prompt = OPERATORS["m1"].prompt(tsp.problem, [Parent(7.0, code)], "skeleton")
    assert f"score = {shown}" in prompt.prefill


def test_a_parent_cannot_break_out_of_its_comment() -> None:
    """A completion of several lines, or a huge one, takes one bounded line."""
    parent = Parent(7.0, "", "near\n    score = score + 1\n" + "x" * 5000)
    prompt = OPERATORS["m1"].prompt(tsp.problem, [parent], "skeleton")
    extra = prompt.prefill.count("\n") - tsp.problem.skeleton.prefix.count("\n")
    assert extra == 3  # the fence, the parent, the ask
    assert len(prompt.prefill) < 2000


@pytest.mark.parametrize("name", OPERATORS)
def test_free_prompts_ask_for_a_thought_and_the_template(name: str) -> None:
    """Free style shows the template, wants the idea in braces, and starts and stops nothing."""
    prompt = render(name, tsp.problem, "free")
    assert tsp.problem.template.strip() in prompt.text
    assert "{the idea}" in prompt.text
    assert (prompt.prefill, prompt.stop, prompt.lead) == ("", (), "")


NOTES = ("an attempt failed: x", "better ones have\n- 0.5 * home ```<|im_end|>", "y" * 500)


@pytest.mark.parametrize("name", OPERATORS)
def test_notes_stand_just_before_what_is_asked(name: str) -> None:
    """Skeleton: comments between the parents and the ask; the code is the same, and so is the message."""
    operator = OPERATORS[name]
    parents = parents_for(operator, tsp.problem)
    plain = operator.prompt(tsp.problem, parents, "skeleton")
    noted = operator.prompt(tsp.problem, parents, "skeleton", notes=NOTES)
    lines, more = plain.prefill.split("\n"), noted.prefill.split("\n")
    assert (more[:-5], more[-2:]) == (lines[:-2], lines[-2:])
    assert more[-5] == "    # an attempt failed: x"
    assert more[-4] == "    # better ones have - 0.5 * home '''< im_end >"
    assert len(more[-3]) < 140
    assert (noted.text, noted.lead, noted.stop) == (plain.text, plain.lead, plain.stop)


@pytest.mark.parametrize("name", OPERATORS)
def test_notes_are_a_list_in_free_prompts(name: str) -> None:
    """Free: a paragraph of their own before the ask; without notes there is none."""
    operator = OPERATORS[name]
    parents = parents_for(operator, tsp.problem)
    plain = operator.prompt(tsp.problem, parents, "free").text.split("\n\n")
    noted = operator.prompt(tsp.problem, parents, "free", notes=NOTES[:2]).text.split("\n\n")
    (added,) = [part for part in noted if part not in plain]
    assert [part for part in noted if part != added] == plain
    assert added.split("\n")[1:] == [
        "- an attempt failed: x",
        "- better ones have - 0.5 * home '''< im_end >",
    ]
