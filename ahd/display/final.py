"""The figures of the closing screen, the same for every display."""

from dataclasses import dataclass

from ahd.display.progress import Progress
from ahd.display.text import clean, duration, percent, rate, signed_percent
from ahd.events import Finished
from ahd.gap import relative_gap


@dataclass(frozen=True)
class Row:
    """``label`` and ``value`` of one line; ``value`` is bold, ``rest`` explains it."""

    label: str
    value: str
    rest: str = ""


def final_rows(progress: Progress, now: float) -> list[Row]:
    """The closing figures of a finished run. The store's summary counts before the display's own."""
    finished, started = progress.finished, progress.started
    if finished is None:
        raise ValueError("the run has not finished")
    folder = clean(str(finished.folder))
    resume = Row("go on", f"ahd resume {folder}")
    if started is None:
        return [resume]
    told = finished.summary

    def figure(key: str, own: float | None) -> float | None:
        value = told.get(key)
        return own if isinstance(value, str) or value is None else float(value)

    rows = [_best(progress, finished), *_lead(progress), *_test(progress, finished)]
    start = f"and {progress.init_spent} for the initial population" if progress.init_spent else ""
    rows.append(Row("proposals", f"{progress.spent} of {progress.budget}", start))
    asked = figure("questions", 0) or 0
    if asked:
        tokens = f"{figure('question_tokens', 0) or 0:,.0f} tokens beside the proposals"
        rows.append(Row("questions", f"{asked:.0f}", f"to the model for insights; {tokens}"))
    valid = figure("validity", progress.validity)
    if valid is not None and progress.spent:
        duplicates = figure("duplicates", progress.duplicates) or 0
        of_all = f"of the {progress.spent}; {duplicates:.0f} of them, valid or not, are duplicates"
        rows.append(Row("valid", percent(valid), of_all))
    rows.append(_updates(progress))
    wall = figure("wall_seconds", progress.elapsed(now)) or 0.0
    es = progress.es_seconds
    split = "  ".join(f"{name} {percent(share)}" for name, share in progress.split.items() if share)
    rows += [
        Row("wall time", duration(wall), "after loading"),
        Row(
            "speed",
            f"{rate(figure('tokens_per_second', _ratio(progress.tokens, progress.model_seconds)))} tokens/s",
            f"generating; {rate(_ratio(progress.evaluations, progress.evaluation_seconds))} "
            "evaluations/s evaluating",
        ),
        Row("work", split, f"of the work; ES {es:.1f} s"),
    ]
    if progress.best is not None:
        rows.append(Row("heuristic", clean(str(finished.folder / "best.py"))))
    after = Row(
        "next", f"ahd report {folder}", "or `ahd test` with it: on every test size, beside the known ones"
    )
    rows.append(after if finished.status == "done" else resume)
    return rows


def _ratio(amount: float, seconds: float) -> float | None:
    return amount / seconds if seconds > 0 else None


def _best(progress: Progress, finished: Finished) -> Row:
    rest = ""
    if finished.gap is not None and progress.started and progress.started.reference is not None:
        rest = _from(progress, finished.gap, progress.started.reference, progress.started.reference_source)
    return Row("best, train", progress.number(finished.best), rest)


def _from(progress: Progress, gap: float, reference: float | None, source: str) -> str:
    """How far from which reference; an older ahd stored no value of that on the test instances."""
    value = f" {progress.number(reference)} ({clean(source)})" if reference is not None else ""
    return f"{signed_percent(gap)} from the reference{value}"


def _lead(progress: Progress) -> list[Row]:
    if progress.rival is None or progress.gain is None:
        return []
    rows = [_beside(progress, progress.gain, *progress.rival)]
    if progress.gain == 0:
        return rows
    known = progress.started.known.items() if progress.started else ()
    return rows + [Row("", "equal", f"to {clean(name)}") for name, value in known if value == progress.result]


def _beside(progress: Progress, gain: float, name: str, value: float) -> Row:
    """How far a result is from what the known heuristic ``name`` scores on the same instances."""
    known = f"{clean(name)} ({progress.number(value)})"
    if gain == 0:
        return Row("", "equal", f"to {known}")
    return Row("", f"{percent(abs(gain), 2)} {'better' if gain > 0 else 'worse'}", f"than {known}")


def _test(progress: Progress, finished: Finished) -> list[Row]:
    what = f"on {clean(finished.test_what)}" if finished.test_what else ""
    if finished.test is None:
        return [Row("best, test", "not measured", clean(finished.test_detail) or finished.status)]
    if finished.test_gap is not None:
        far = _from(progress, finished.test_gap, finished.test_reference, finished.test_reference_source)
        what = f"{what}; {far}" if what else far
    rows = [Row("best, test", progress.number(finished.test), what)]
    leads = {name: relative_gap(finished.test, value) for name, value in finished.test_known.items()}
    return rows + [
        _beside(progress, -lead, name, finished.test_known[name])
        for name, lead in leads.items()
        if lead is not None
    ]


def _updates(progress: Progress) -> Row:
    done, planned = len(progress.updates), progress.started.updates_planned if progress.started else 0
    if not planned and not done:
        return Row("ES updates", "0", "the weights stayed as they were")
    last = progress.updates[-1] if progress.updates else None
    rest = f"weights {last.weights_hash[:12]}" if last else ""
    back, left = progress.rollbacks, progress.left_out
    rest += f"; {back} of them rolled back" if back else ""
    rest += f"; {left} left out" if left else ""
    return Row("ES updates", f"{done} of {planned}", rest)
