"""What a run spent and what came of it, in numbers, from its rows alone."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ahd.insights.questions import Question
from ahd.store import Proposal, UpdateRow


def figures(
    rows: Sequence[Proposal],
    updates: Sequence[UpdateRow],
    wall_seconds: float,
    questions: Sequence[Question] = (),
) -> dict[str, Any]:
    """Spend, validity and time of a run. ``spent``, ``valid``, ``validity`` and ``duplicates`` leave the
    initial population out; the rest counts all proposals. ``questions`` are those that the run put to
    the model for insights: tokens and seconds of the model count them too. Times are seconds; ``shares`` are
    of the working time."""
    asked: list[Proposal | Question] = [*rows, *questions]
    searched = [row for row in rows if row.phase == "search"]
    valid = sum(row.objective is not None for row in searched)
    seconds = {
        "model": sum(each.model_seconds for each in asked),
        "es": sum(row.es_seconds for row in rows) + sum(update.seconds for update in updates),
        "evaluation": sum(row.evaluation_seconds for row in rows),
    }
    work, tokens = sum(seconds.values()), sum(each.completion_tokens for each in asked)
    return {
        "spent": len(searched),
        "init_spent": len(rows) - len(searched),
        "valid": valid,
        "validity": valid / len(searched) if searched else 0.0,
        "duplicates": sum(row.duplicate_of is not None for row in searched),
        "outcome_counts": dict(Counter(row.outcome for row in rows).most_common()),
        "updates_made": len(updates),
        "rollbacks": sum(update.rollback_to is not None for update in updates),
        "left_out": sum(update.rollback_to is None and bool(update.note) for update in updates),
        "questions": len(questions),
        "question_tokens": sum(each.prompt_tokens + each.completion_tokens for each in questions),
        "prompt_tokens": sum(each.prompt_tokens for each in asked),
        "completion_tokens": tokens,
        "tokens_per_second": tokens / seconds["model"] if seconds["model"] else None,
        "wall_seconds": wall_seconds,
        "seconds": seconds,
        "shares": {name: spent / work if work else 0.0 for name, spent in seconds.items()},
        "es_share_of_wall": seconds["es"] / wall_seconds if wall_seconds else 0.0,
    }
