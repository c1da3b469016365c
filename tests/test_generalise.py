"""``ahd test``: elites of a run on instances they have not seen."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from ahd.config import ConfigError, RunConfig
from ahd.evaluate import evaluate_files
from ahd.events import Started
from ahd.gap import no_gap
from ahd.generalise import Block, Entry, Row, print_block, run_test
from ahd.scoring import Score, fresh_seeds
from ahd.store import Proposal, Store
from evaluators.outcome import Outcome, Status
from problems.registry import load, load_file
from tests.display.stored_run import store_run

SMALL = """
import dataclasses
from problems.{module} import problem as whole

def instances(split, size):
    if size not in SIZES.get(split, ()):
        raise ValueError("no such size")
    return whole.instances({{"train": "train", "val": "val", "test": "val"}}[split], size)[:3]

SIZES = {{"train": whole.sizes["train"], "val": (20,), "test": {tests}}}
problem = dataclasses.replace(
    whole,
    name="small",
    sizes=SIZES,
    instances=instances,
    redraw=None,
    reference=lambda *_: whole.reference("val", 20),
)
"""
BETTER = "near - 0.35 * home"


def store(folder: Path, problem_file: Path, codes: list[tuple[str, float | None]]) -> Path:
    """A finished run of the problem in the file with one proposal per code and objective."""
    config = RunConfig(problem="small", model="scripted", problem_path=str(problem_file))
    run = Store.create(folder, config)
    started = Started(config, folder, "m", 1, "free", "s", 0, None, "", 5, {"nearest neighbour": 7.0})
    with run.session() as session:
        run.set_meta(started_event=json.dumps(asdict(started) | {"folder": str(folder)}, default=str))
        for number, (code, objective) in enumerate(codes, 1):
            run.add_proposal(proposal(number, code, objective))
        session.status = "done"
    run.close()
    return folder


def proposal(number: int, code: str, objective: float | None) -> Proposal:
    outcome = "ok" if objective is not None else "runtime_error"
    texts = ("", "", "", code, "", "", outcome)
    numbers = (number, None, None, None, 1, 1, 0.1, 0.0, 0.1, 1.0)
    return Proposal(number, 0, number, "init", 0, "i1", (), *texts, objective, "", None, *numbers)


def small(folder: Path, module: str, tests: tuple[int, ...] = (20, 50)) -> Path:
    file = folder / f"small_{module}.py"
    file.write_text(SMALL.format(module=module, tests=tests))
    return file


def filled(module: str, expression: str) -> str:
    skeleton = load(module.replace("_", "-")).skeleton
    return f"{skeleton.prefix} {expression}{skeleton.suffix}"


@pytest.fixture
def tsp_run(tmp_path: Path) -> Path:
    codes = [(filled("tsp", "near"), 7.0), (filled("tsp", BETTER), 6.5), ("broken", None)]
    return store(tmp_path / "run", small(tmp_path, "tsp"), codes)


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_elites_are_scored_beside_the_known(
    tsp_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every test size has the best heuristics, then the known ones, each with what `ahd evaluate` gives, a
    gap and seconds per instance; the run file stays as it was."""
    before = (tsp_run / "run.sqlite").read_bytes()
    assert run_test(tsp_run, top=2, as_json=True) == 0
    found = rows(capsys)
    problem = load_file(tmp_path / "small_tsp.py")
    names = ["best, proposal 2", "rank 2, proposal 1", *problem.heuristics]
    assert [(row["size"], row["heuristic"]) for row in found] == [
        (n, name) for n in (20, 50) for name in names
    ]
    code = tmp_path / "best.py"
    code.write_text(filled("tsp", BETTER))
    for size, row in ((20, found[0]), (50, found[len(names)])):
        (direct,) = evaluate_files(problem, [code], "test", size)
        assert row["objective"] == direct.outcome.objective
        assert row["gap"] == direct.gap
        assert row["trained"] == 6.5
        assert row["standard_error"] is None
        assert row["count"] == 3
        assert 0 < float(str(row["seconds"])) < 60
    assert found[1]["objective"] == found[2]["objective"], "proposal 1 is nearest neighbour"
    assert (tsp_run / "run.sqlite").read_bytes() == before


def test_the_table_names_what_it_shows(tsp_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One size at a time when asked for, with known heuristics and the source of the gap."""
    assert run_test(tsp_run, sizes=[20]) == 0
    shown = capsys.readouterr().out
    assert "small: 3 test instances of size 20" in shown
    assert "size 50" not in shown
    for part in ("best, proposal 2", "nearest minus home", "gap to 3.8", "ms an instance", "6.50000"):
        assert part in shown, part


@pytest.mark.slow
def test_seeded_problems_are_scored_under_fresh_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An ant colony's elites get a mean and a standard error over seeds that no search uses, on the training
    instances too: what a search kept was lucky under its own seed."""
    folder = store(
        tmp_path / "run", small(tmp_path, "tsp_aco", (20,)), [(filled("tsp_aco", "near ** 2"), 5.0)]
    )
    assert run_test(folder, seeds=3, as_json=True) == 0
    found = rows(capsys)
    assert [row["instances"] for row in found if row["proposal"] == 1] == [
        "3 train instances of size 50",
        "3 test instances of size 20",
    ]
    for row in found:
        assert row["seeds"] == list(fresh_seeds(3))
        assert row["standard_error"] is not None
    assert run_test(folder, seeds=2, sizes=[20]) == 0
    shown = capsys.readouterr().out
    assert "mean of 2 fresh seeds" in shown
    assert "error" in shown


def test_files_of_instances(tsp_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Instances from files take the place of the test sizes: a row each, with the known heuristics."""
    for name in ("one", "two"):
        lines = [f"{k} {17 * k % 11} {29 * k % 13}" for k in range(1, 9)]
        head = f"NAME : {name}\nTYPE : TSP\nDIMENSION : 8\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION"
        (tmp_path / f"{name}.tsp").write_text("\n".join([head, *lines, "EOF\n"]))
    files = [str(tmp_path / "*.tsp")]
    assert run_test(tsp_run, files=files, as_json=True) == 0
    found = rows(capsys)
    assert [row["instances"] for row in found[:: len(found) // 2]] == ["one", "two"]
    assert all(float(str(row["objective"])).is_integer() for row in found)
    assert run_test(tsp_run, files=files) == 0
    shown = capsys.readouterr().out
    assert "2 instances from files" in shown
    assert "nearest minus rest" in shown


def test_a_failing_elite_makes_the_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A heuristic of the run that fails on unseen instances is told with its reason; the rest is scored."""
    code = "def select_next_node(a, b, c, d):\n    return c[0] if len(d) == 50 else 1 / 0\n"
    folder = store(tmp_path / "run", small(tmp_path, "tsp"), [(code, 7.0)])
    assert run_test(folder) == 1
    shown = capsys.readouterr().out
    assert "runtime_error: ZeroDivisionError" in shown
    assert "nearest minus rest" in shown


def test_a_column_without_gaps_has_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below a size without a reference stands the command that computes one, where there is a solver, and
    below one whose reference is 0 that it is; a file's problem that knows none has nothing to say."""
    file = small(tmp_path, "tsp", (20,))
    folder = store(tmp_path / "run", file, [(filled("tsp", "near"), 7.0)])
    text = file.read_text()
    for value, told in (("Reference(0.0, 'x')", "no gap: the reference is 0\n"), ("None", "")):
        reference = f"from problems.problem import Reference\n{text}"
        file.write_text(reference.replace('whole.reference("val", 20)', value))
        assert run_test(folder) == 0
        shown = capsys.readouterr().out
        assert shown.endswith(f"\n{told}")
        assert ("gap: " in shown, "gap to" in shown, "no reference" in shown) == (bool(told), False, False)
    assert no_gap(load("tsp"), "test", 200, None) == (
        "no reference for size 200: `ahd refs tsp --split test --size 200` computes one"
    )
    assert no_gap(load("admissible-set"), "test", 12, None) == "", "no solver is kept for it"
    assert no_gap(load("tsp"), "test", 50, load("tsp").reference("test", 50)) == ""
    row = Row(Entry("x", ""), Score(Outcome(Status.OK, 1.0), None, (0,)), None)
    print_block(load("tsp"), Block("1000 test instances", "test", 200, 1000, None), [row])
    assert "`ahd refs tsp --split test --size 200` computes one" in capsys.readouterr().out


def test_instances_that_differ_are_refused(tsp_run: Path, tmp_path: Path) -> None:
    """A problem file that has lost its seed since the run is told before anything is scored."""
    file = tmp_path / "small_tsp.py"
    file.write_text(f"import random\n{file.read_text()}".replace("[:3]", "[:3] * random.random()"))
    with pytest.raises(ConfigError, match=r"small_tsp\.py: `instances\('train', 50\)` differs"):
        run_test(tsp_run)


def test_mistakes_are_one_line(tsp_run: Path, tmp_path: Path) -> None:
    """Folders that are no run, runs without a valid proposal, and options out of range are named."""
    cases = (
        ({"folder": tmp_path / "nowhere"}, "not a run folder"),
        ({"folder": tsp_run, "top": 0}, "--top 0"),
        ({"folder": tsp_run, "seeds": 0}, "--seeds 0"),
        ({"folder": tsp_run, "workers": 0}, "--workers 0"),
        ({"folder": tsp_run, "timeout": -1.0}, "--timeout -1"),
        ({"folder": tsp_run, "memory_mb": 1}, "--memory-mb 1"),
        ({"folder": tsp_run, "sizes": [7]}, "--size 7: small has test instances of size 20, 50"),
        ({"folder": tsp_run, "sizes": [20], "files": ["x.tsp"]}, "--size"),
        ({"folder": tsp_run, "files": ["nowhere.tsp"]}, "nowhere.tsp"),
        ({"folder": store_run(tmp_path / "none", all_fail=True, proposals=10)}, "no valid proposal"),
    )
    for options, words in cases:
        with pytest.raises(ConfigError, match=words) as caught:
            run_test(**options)  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)
