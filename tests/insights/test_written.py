"""The model's own insights: asked for now and then, metered, stored with their answers."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ahd.config import ConfigError, Insights, Method, RunConfig, Style
from ahd.figures import figures
from ahd.insights.questions import questions
from ahd.insights.written import EVERY, Written
from ahd.schedule import Batch
from ahd.store import Store
from operators.model import Request
from operators.reflection import MOST_LINES, insights_in
from tests.fakes import PROBLEM, FakeModel
from tests.insights.rows import row

CONFIG = RunConfig("fake", Method.EOH, insights=Insights.MODEL)
PAST = [*(row(k, float(k), f"a - {k}") for k in range(9)), row(9, None, detail="ValueError: no")]


class Asked(FakeModel):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request], directions: Sequence[object]):  # type: ignore[no-untyped-def,override]
        self.requests += requests
        return super().generate(requests, directions)  # type: ignore[arg-type]


def written(store: Store, model: FakeModel, style: Style = Style.SKELETON) -> Written:
    return Written(store.config, style, PROBLEM, model, store, lambda text: None)


def batch(number: int, generation: int) -> Batch:
    return Batch(number, generation, "m1", 10, False)


@pytest.mark.parametrize("style", [Style.SKELETON, Style.FREE])
def test_the_question_shows_the_best_the_worst_and_the_failures(tmp_path: Path, style: Style) -> None:
    """Two heuristics of either side with their objectives, and reasons of failures."""
    model = Asked()
    written(Store.create(tmp_path / "run", CONFIG), model, style)(batch(1, 1), PAST)
    (request,) = model.requests
    for told in ("objective 0.0", "objective 1.0", "a - 1", "objective 8.0", "a - 8", "ValueError: no"):
        assert told in request.prompt
    assert "a - 4" not in request.prompt


def test_a_question_every_second_generation(tmp_path: Path) -> None:
    """In between and within a generation the last lines stay; each question shows the lines before it."""
    model = Asked()
    insights = written(Store.create(tmp_path / "run", CONFIG), model)
    told = [insights(batch(number, 1 + number // 4), PAST) for number in range(1, 20)]
    assert len(model.requests) == len(range(1, 6, EVERY)) == 3
    assert told[0] == told[4] == told[6]
    assert "Insights so far" not in model.requests[0].prompt
    assert told[0][0] in model.requests[1].prompt


def test_questions_are_metered(tmp_path: Path) -> None:
    """Their tokens and seconds count as the model's, and are told apart."""
    store = Store.create(tmp_path / "run", CONFIG)
    insights = written(store, FakeModel())
    insights(batch(1, 1), PAST)
    insights(batch(9, 1 + EVERY), PAST)
    without, found = figures(PAST, [], 1.0), figures(PAST, [], 1.0, questions(store))
    assert (found["questions"], found["question_tokens"]) == (2, 2 * 15)
    assert found["prompt_tokens"] == without["prompt_tokens"] + 20
    assert found["completion_tokens"] == without["completion_tokens"] + 10
    assert found["seconds"]["model"] == pytest.approx(without["seconds"]["model"] + 0.02)
    assert found["spent"] == without["spent"]


def test_a_stored_question_is_not_put_again(tmp_path: Path) -> None:
    """Resumed: the same lines, without the model; from other proposals the run is refused."""
    store = Store.create(tmp_path / "run", CONFIG)
    lines = written(store, FakeModel())(batch(1, 1), PAST)
    model = FakeModel()
    assert written(store, model)(batch(1, 1), PAST) == lines
    assert model.generated == []
    with pytest.raises(ConfigError, match="insights before batch 1"):
        written(store, model)(batch(1, 1), PAST[1:])


@pytest.mark.parametrize(
    "record", ['{"questions": [5]}', '{"questions": 5}', "{}", '{"questions": [{"batch": 1}]}', "[]"]
)
def test_damage_is_refused_in_one_line(tmp_path: Path, record: str) -> None:
    """A record that is none names the run and the mend."""
    store = Store.create(tmp_path / "run", CONFIG)
    store.set_meta(insights=record)
    with pytest.raises(ConfigError, match="damaged"):
        questions(store)


def test_a_field_of_another_kind_is_damage(tmp_path: Path) -> None:
    """A reply that is a number is no reply."""
    store = Store.create(tmp_path / "run", replace(CONFIG, seed=2))
    written(store, FakeModel())(batch(1, 1), PAST)
    text = store.meta("insights") or ""
    store.set_meta(insights=text.replace('"batch": 1', '"batch": "1"'))
    with pytest.raises(ConfigError, match="damaged"):
        questions(store)


def test_insights_are_the_first_lines_without_bullets() -> None:
    """Bounded in number and length, whatever the reply."""
    assert insights_in("- use home\n\n  2. avoid loops\n* third") == ("use home", "avoid loops")
    assert insights_in("") == insights_in("\n \x07\n") == ()
    assert insights_in("-0.5 * home") == ("-0.5 * home",)
    lines = insights_in("\n".join("x" * 5000 for _ in range(50)))
    assert len(lines) <= MOST_LINES
    assert all(len(line) <= 120 for line in lines)
