"""The plan of a comparison: read, written, hashed, refused."""

import json
import shlex
from dataclasses import replace

import pytest

from ahd.compare.plan import Arm, Plan, parse_arms, parse_seeds
from ahd.config import ConfigError, Method, Reward, RunConfig

BASE = RunConfig(problem="", budget=400, reward=Reward.PAPER, scope="layers.[0-3]")
PLAN = Plan(("tsp", "knapsack"), parse_arms("esopt,eoh,eoh@0.7"), (1, 2, 3), BASE)


def test_arms_differ_in_method_and_temperature_alone() -> None:
    """Runs of a seed share everything else; the temperature is that after the initial population."""
    runs = [run.config for run in PLAN.runs() if (run.config.seed, run.config.problem) == (2, "tsp")]
    assert [(run.method, run.search_temperature) for run in runs] == [
        (Method.ESOPT, None),
        (Method.EOH, None),
        (Method.EOH, 0.7),
    ]
    assert len({replace(run, method=Method.EOH, search_temperature=None) for run in runs}) == 1


def test_an_arm_may_have_options_of_its_own() -> None:
    """They are read, set in its runs alone, written back in one way, and part of the plan's facts."""
    arms = parse_arms("esopt+reward=paper+antithetic,esopt@0.70+per-direction=2,eoh")
    assert [arm.label for arm in arms] == [
        "esopt+reward=paper+antithetic",
        "esopt@0.7+per-direction=2",
        "eoh",
    ]
    plan = Plan(("tsp",), arms, (1,), RunConfig(problem="", budget=400))
    first, second, third = (run.config for run in plan.runs())
    assert (first.reward, first.antithetic) == (Reward.PAPER, True)
    assert (second.reward, second.per_direction, second.search_temperature) == (Reward.NEW, 2, 0.7)
    assert third == RunConfig("tsp", Method.EOH, 400)
    assert Plan.from_facts(json.loads(json.dumps(plan.facts()))) == plan
    assert Arm.parse("esopt+antithetic=false").options == (("antithetic", False),)


@pytest.mark.parametrize(
    "text", ["eoh+tune=0.3000001", "eoh+tune=0.3", "eoh+alpha=1e-07", "eoh+tune=0.123456789012"]
)
def test_a_label_holds_every_digit(text: str) -> None:
    """So that two arms are never one, and a plan that is read back is the plan."""
    assert Arm.parse(text).label == text
    assert Arm.parse(Arm.parse(text).label) == Arm.parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("eoh+budget=5", "budget is the same for all arms"),
        ("eoh+seed=5", "seed is the same for all arms"),
        ("eoh+nothing=5", "has no such option"),
        ("eoh+reward=much", "--reward much"),
        ("eoh+antithetic=perhaps", "--antithetic perhaps"),
        ("eoh+per-direction", "--per-direction true"),
        ("eoh+scope=a/b", "a/b"),
        ("eoh+", "has no such option"),
        ("eoh+tune=0.3+tune=0.4", "tune is given twice"),
    ],
)
def test_bad_options_of_an_arm(text: str, told: str) -> None:
    """What all arms share, what there is not, and values that are none: one line each."""
    with pytest.raises(ConfigError, match="--methods") as caught:
        Arm.parse(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_run_has_a_place_of_its_own() -> None:
    """2 problems x 3 arms x 3 seeds, seeds outermost."""
    runs = list(PLAN.runs())
    assert len({run.place for run in runs}) == len(runs) == 18
    assert [run.config.seed for run in runs] == [1] * 6 + [2] * 6 + [3] * 6
    assert str(runs[2].place) == "runs/tsp/eoh@0.7-1"


def test_round_trip() -> None:
    """Plain values give back the same plan."""
    assert Plan.from_facts(json.loads(json.dumps(PLAN.facts()))) == PLAN
    for broken in ({}, [], {"version": 1}, PLAN.facts() | {"seeds": ["x"]}, PLAN.facts() | {"arms": ["x"]}):
        with pytest.raises(ConfigError):
            Plan.from_facts(broken)


def test_the_name_follows_from_the_plan_without_its_seeds() -> None:
    """The same plan has the same name, more seeds too; another budget, arm or option another name."""
    assert PLAN.name == replace(PLAN).name == replace(PLAN, seeds=(1, 2, 3, 4)).name
    assert PLAN.name.startswith("compare-tsp-knapsack-")
    others = [
        replace(PLAN, base=replace(BASE, budget=401)),
        replace(PLAN, base=replace(BASE, momentum=0.5)),
        replace(PLAN, arms=PLAN.arms[:2]),
        replace(PLAN, problems=("tsp",)),
    ]
    assert len({each.name for each in others} | {PLAN.name}) == 5


def test_the_command_repeats_it() -> None:
    """The words of the command have the problems, arms, seeds and unusual options."""
    words = shlex.split(PLAN.command)
    assert words[:8] == [
        "ahd",
        "compare",
        "tsp",
        "knapsack",
        "--methods",
        "esopt,eoh,eoh@0.7",
        "--seeds",
        "3",
    ]
    assert words[8:] == ["--budget", "400", "--scope", "layers.[0-3]", "--reward", "paper"]
    assert "--seeds 11-13" in replace(PLAN, seeds=(11, 12, 13)).command
    assert "--seeds 2,4" in replace(PLAN, seeds=(2, 4)).command


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (1, 2, 3)), ("11-13", (11, 12, 13)), ("3,7", (3, 7)), ("1-2, 9", (1, 2, 9)), ("4-4", (4,))],
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    """A count, a range, a list."""
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "x", "", "3-1", "1-99999999", "1,,2", "-3"])
def test_bad_seeds(text: str) -> None:
    """One line that names the option."""
    with pytest.raises(ConfigError, match="--seeds"):
        parse_seeds(text)


def test_bad_plans() -> None:
    """Unknown methods, one arm alone and doubles are refused by name."""
    for text in ("magic", "eoh@", "eoh@warm", "eoh@0.7@0.8", "eoh+tune=", "eoh+tune=x", "eoh+0.3"):
        with pytest.raises(ConfigError, match="--methods"):
            Arm.parse(text)
    for wrong in (
        {"arms": parse_arms("eoh")},
        {"arms": parse_arms("eoh,esopt,eoh")},
        {"seeds": (1, 1)},
        {"problems": ("tsp", "tsp")},
        {"problems": ()},
        {"problems": ("../tsp",)},
        {"arms": parse_arms("eoh,eoh@11")},
        {"arms": parse_arms("eoh,eoh+tune=0.95")},
        {"seeds": (2**32,)},
    ):
        with pytest.raises(ConfigError):
            replace(PLAN, **wrong)  # type: ignore[arg-type]


def test_a_problem_file_is_for_the_problem_it_defines() -> None:
    """Problems of the package are not looked for in it."""
    plan = replace(PLAN, problems=("tsp", "mine"), base=replace(BASE, problem_path="/x/mine.py"))
    assert {run.config.problem: run.config.problem_path for run in plan.runs()} == {
        "tsp": "",
        "mine": "/x/mine.py",
    }
