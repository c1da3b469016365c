"""Replies become code without ever raising, executing or losing a usable completion."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.parsing import Parsed, completion_in, fill, parse_reply
from problems.tsp import problem

FUNCTION = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):"
COMPLETIONS = (
    "near",
    "near - 0.5 * home",
    "np.where(near < 0.2,\n        near, home)",
    "near\n    score = score - 0.3 * home",
    "near\n    for step in range(3):\n        score = score * 0.9",
    "'# no comment' and near",
)


@pytest.mark.parametrize("style", ["skeleton", "free"])
@given(text=st.text(max_size=300))
@settings(deadline=None)
def test_arbitrary_text_never_raises(style: str, text: str) -> None:
    """Any text parses to some code, in both styles."""
    assert isinstance(parse_reply(text, problem, style), Parsed)  # type: ignore[arg-type]


@given(
    parts=st.lists(
        st.sampled_from(
            [
                "```",
                "```python\n",
                "\n",
                "    ",
                "return",
                "def ",
                FUNCTION,
                "import",
                " ",
                "#",
                "{",
                "}",
                "'''",
            ]
            + [
                "(",
                ")",
                "lambda:",
                "near",
                "\\",
                "\t",
                "\x00",
                "\ud800",
                "0.5",
                "*",
                "=",
                "async ",
                "\r",
            ]
        ),
        max_size=40,
    )
)
@settings(max_examples=300, deadline=None)
def test_code_like_text_never_raises(parts: list[str]) -> None:
    """Fragments of code and markup in any order parse to some code, in both styles."""
    text = "".join(parts)
    for style in ("skeleton", "free"):
        assert parse_reply(text, problem, style).code


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "-" * 200_000 + "1",
        "1" + "+1" * 100_000,
        "x = " + "9" * 100_000,
        "\x00",
        "[" * 90 + "]" * 90,
    ]
    + ["if x:\n" * 5000, "a\n" * 300_000, "```" * 200_000, "{" * 300_000, "lambda:" * 20_000, "f'{" * 3000],
    ids=range(12),
)
def test_hostile_text_is_survived(text: str) -> None:
    """Deep nesting, null bytes and huge texts neither crash nor hang the parser."""
    for style in ("skeleton", "free"):
        assert parse_reply(text, problem, style).code


@pytest.mark.parametrize("completion", COMPLETIONS)
def test_round_trip(completion: str) -> None:
    """A completion filled into the skeleton is found again, in a reply and in the code."""
    code = fill(problem, completion)
    assert completion_in(code, problem) == completion
    assert parse_reply(" " + completion, problem, "skeleton") == Parsed(code, completion)
    assert parse_reply(completion + "\n", problem, "skeleton") == Parsed(code, completion)


@given(text=st.text(alphabet=" \n()+-*0.5abnptocurel_#,=:'[]", max_size=80))
@settings(max_examples=300, deadline=None)
def test_parsing_is_idempotent(text: str) -> None:
    """Reading a completion again gives the same completion."""
    first = parse_reply(text, problem, "skeleton")
    assert parse_reply(first.completion, problem, "skeleton") == first
    assert first.code == fill(problem, first.completion)


@pytest.mark.parametrize(
    "tail",
    ["\n    return score", "\n    return unvisited_nodes[np.argmin(score)]\n\nprint(1)", "\n```\nThis is it."]
    + [
        "  # the nearest",
        "\n    # and so on\n    # for ever",
        "\n    score = (score",
        "\nThat is the formula.",
    ]
    + ["\n    return score\n    score = 3", "\n\ndef other():\n    pass"],
)
def test_what_follows_the_completion_is_dropped(tail: str) -> None:
    """Returns, fences, prose, comments, other functions and torn lines after it do not count."""
    assert parse_reply(" near" + tail, problem, "skeleton").completion == "near"


def test_longest_usable_prefix_wins() -> None:
    """Statements after the first line are kept as long as the function stays readable."""
    text = " near\n    score = score - home\n    score = ("
    assert parse_reply(text, problem, "skeleton").completion.endswith("score - home")


@pytest.mark.parametrize("tail", [" + (home - ", " 1.02", " which is the nearest", " = (", ")", ":"])
def test_a_torn_line_gives_its_longest_start(tail: str) -> None:
    """A line that runs on into prose or is cut in a bracket counts up to the last token that fits."""
    text = " near - 0.5 * home"
    assert parse_reply(text + tail, problem, "skeleton").completion == text.strip()


def test_unusable_completion_is_kept_for_the_sandbox() -> None:
    """When nothing parses the code holds the text as it came, so that its failure is typed."""
    parsed = parse_reply(" ) + near (", problem, "skeleton")
    assert parsed.code == fill(problem, ") + near (")
    with pytest.raises(SyntaxError):
        ast.parse(parsed.code)


def test_known_heuristics_are_instances_of_the_skeleton() -> None:
    """The completion of every known heuristic that fills the skeleton is found; other code has none."""
    assert completion_in(problem.simplest[1], problem)
    assert (
        completion_in("import numpy as np\n" + FUNCTION + "\n    return unvisited_nodes[0]\n", problem) == ""
    )


BODY = FUNCTION + "\n    return unvisited_nodes[0]"


@pytest.mark.parametrize(
    "text",
    [
        "{Take the first one.}\n```python\n" + BODY + "\n```\nDone.",
        "{Take the first one.}\n```\n" + BODY + "\n```",
        "{Take the first one.}\n```python\n" + BODY,
        "{Take the first one.}\n" + BODY + "\n\nThis picks the nearest, isn't it?",
        "{Take the first one.}\n```python\nx = 1\n```\nand\n```py\n" + BODY + "\n```",
        "Idea: {Take the\n first one.} {other}\n" + BODY,
    ],
)
def test_free_replies(text: str) -> None:
    """Code comes from the block that defines the function, or from the first import or def; the
    thought from the first braces before it."""
    parsed = parse_reply(text, problem, "free")
    assert parsed == Parsed(BODY + "\n", thought="Take the first one.")


def test_free_thought_is_not_taken_from_code() -> None:
    """A dictionary inside the code is no description."""
    text = f"```python\n{FUNCTION}\n    a = {{1: 2}}\n    return 0\n```"
    assert parse_reply(text, problem, "free").thought == ""


def test_nothing_is_executed(tmp_path: object) -> None:
    """Code in a reply is not run while it is read."""
    for style in ("skeleton", "free"):
        parse_reply("import sys\nsys.exit(3)\n", problem, style)
        parse_reply("__import__('os')._exit(3)", problem, style)
