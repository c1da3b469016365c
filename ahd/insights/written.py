"""Insights that the model writes itself: questions now and then, metered and stored with their answers."""

from collections.abc import Callable, Sequence

from ahd.config import ConfigError, RunConfig, Style
from ahd.feedback import reason
from ahd.insights.questions import Question, questions, store_questions
from ahd.insights.rules import distinct
from ahd.schedule import Batch
from ahd.seeds import derive
from ahd.store import Proposal, Store
from ahd.style import SAMPLING, prompt_style
from operators.model import Model, Request
from operators.parent import Parent
from operators.prompt import Prompt
from operators.reflection import insights_in, reflection
from problems.problem import Problem

EVERY = 2
"""Generations from one question to the next."""
SHOWN = 2
"""Heuristics of either side in a question: their tokens have to fit beside the reply's."""
FAILURES = 3
"""Reasons of failures in a question."""


class Written:
    """Asks the model, as it is at the time, at the beginning of every second generation."""

    def __init__(
        self,
        config: RunConfig,
        style: Style,
        problem: Problem,
        model: Model,
        store: Store,
        tell: Callable[[str], None],
    ) -> None:
        self.config = config
        self.style = style
        self.problem = problem
        self.model = model
        self.store = store
        self.tell = tell
        self._questions = questions(store)
        self._asked = 0
        """Generation of the last question."""
        self._lines: tuple[str, ...] = ()

    def __call__(self, batch: Batch, past: Sequence[Proposal]) -> tuple[str, ...]:
        """The insights for a batch: those of the last question, which may be put now.

        Raises:
            ConfigError: the stored question of this batch is not the one that this run would put.
        """
        if not self._asked or batch.generation >= self._asked + EVERY:
            self._asked = batch.generation
            question = self._question(batch, past)
            self._lines = insights_in(question.reply)
            tokens = question.prompt_tokens + question.completion_tokens
            self.tell(f"insights ({tokens} tokens): {'; '.join(self._lines) or 'none'}")
        return self._lines

    def _question(self, batch: Batch, past: Sequence[Proposal]) -> Question:
        """The question of a batch with its answer, from the store or from the model."""
        prompt = self._prompt(past)
        stored = next((each for each in self._questions if each.batch == batch.number), None)
        if stored is not None:
            if stored.prompt != prompt.text:
                raise ConfigError(
                    f"{self.store.folder}: the question for insights before batch {batch.number} is not the "
                    "one this run would put: resume with the ahd that the run began with"
                )
            return stored
        usual, config = SAMPLING[self.style], self.config
        request = Request(
            prompt.text,
            derive(config.seed, "insights", batch.number),
            stop=prompt.stop,
            max_tokens=prompt.max_tokens,
            temperature=usual.temperature if config.temperature is None else config.temperature,
            top_p=usual.top_p if config.top_p is None else config.top_p,
        )
        ((_, reply),) = self.model.generate([request], [None])
        question = Question(
            batch.number, prompt.text, reply.text, reply.prompt_tokens, reply.completion_tokens, reply.seconds
        )
        self._questions.append(question)
        store_questions(self.store, self._questions)
        return question

    def _prompt(self, past: Sequence[Proposal]) -> Prompt:
        valid = distinct(past)
        worse = valid[SHOWN:][-SHOWN:]
        failed = [row for row in reversed(past) if row.objective is None]
        failures = dict.fromkeys(reason(row.outcome, row.detail) for row in failed)
        return reflection(
            self.problem,
            [_parent(row) for row in valid[:SHOWN]],
            [_parent(row) for row in worse],
            list(failures)[:FAILURES],
            self._lines,
            prompt_style(self.style),
        )


def _parent(row: Proposal) -> Parent:
    assert row.objective is not None, "it is one of the valid"
    return Parent(row.objective, row.code, row.completion, row.thought)
