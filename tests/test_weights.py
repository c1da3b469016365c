"""`ahd weights`: weights are a function of base files and log, and an export is those weights."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ahd.config import ConfigError, Dtype, Kind, RunConfig
from ahd.es.perturbation import perturbation_of
from ahd.models.scripted import scripted_tsp
from ahd.models.weights import Masters, read_tensors
from ahd.store import FILE, Store, UpdateRow
from ahd.weights import Differs, Stored, Weights, export, read, rebuild, repeat
from tests.test_cli import ahd
from tests.test_crash import launch, start
from tests.test_damage import execute
from tests.test_learning import CONFIG, OPTIONS, rows_of, run

Entry = tuple[Sequence[int], Sequence[float], float]
LOG: list[Entry] = [
    ([1, 2], [1.0, -0.5], 0.02),
    ([3, 1, 3], [0.25, 2.0, 1.0], 0.01),
    ([9], [0.0], 0.01),
    ([4], [1e-4], 0.01),
]


def logged(folder: Path, config: RunConfig, weights: Weights, log: Sequence[Entry] = LOG) -> None:
    """A run file whose updates have been made on these weights."""
    with closing(Store.create(folder, config)) as store:
        store.set_meta(base_hash=weights.weights_hash())
        for number, (seeds, values, alpha) in enumerate(log, 1):
            weights.update(seeds, values, alpha)
            store.add_update(
                UpdateRow(
                    id=number,
                    batch=number,
                    operator="m1",
                    seeds=tuple(seeds),
                    rewards=tuple(values),
                    weights=tuple(values),
                    sigma=0.01,
                    alpha=alpha,
                    norm=0.0,
                    moved=0.0,
                    weights_hash=weights.weights_hash(),
                    seconds=0.0,
                    created=0.0,
                    step_seeds=tuple(seeds),
                    step_weights=tuple(values),
                )
            )


@pytest.mark.parametrize("name", OPTIONS)
def test_the_log_gives_the_weights_after_every_update(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every kind, scope, reward and shaping, with momentum and rollbacks: base and log give each hash in
    the log, the command says so, and the run file is as before."""
    folder = tmp_path / "run"
    run(folder, replace(CONFIG, model="scripted", **OPTIONS[name]))
    before = (folder / FILE).read_bytes()
    updates = rows_of(folder)
    for number in range(len(updates) + 1):
        log = read(folder, number)
        found = repeat(log, scripted_tsp(perturbation_of(log.config)))
        assert found == (updates[number - 1].weights_hash if number else log.hashes[0])
    assert rebuild(folder, None, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["equal"]
    assert (told["update"], told["weights_hash"]) == (len(updates), updates[-1].weights_hash)
    assert (told["updates"] < len(updates)) == any(row.rollback_to is not None for row in updates)
    assert (folder / FILE).read_bytes() == before


@pytest.mark.slow
def test_rebuilding_beside_a_run_and_after_kill_9(tmp_path: Path) -> None:
    """While a run goes on, after it was killed, and when it was resumed to its end, the log gives the weights
    of its last update."""
    folder = tmp_path / "run"
    process = start(folder)
    assert process.stdout is not None
    events = (json.loads(line)["event"] for line in process.stdout)
    for _ in range(3):
        assert "updated" in events
    assert rebuild(folder, None, as_json=True) == 0
    assert process.poll() is None
    process.kill()
    process.wait()
    killed = rows_of(folder)
    assert len(killed) >= 3
    done = ahd("weights", "rebuild", str(folder))
    assert (done.returncode, done.stdout.split()[-1], done.stderr) == (0, killed[-1].weights_hash, "")
    resumed = launch("resume", str(folder))
    output, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    assert len(rows_of(folder)) > len(killed)
    done = ahd("weights", "rebuild", str(folder), "--json")
    assert json.loads(done.stdout)["weights_hash"] == rows_of(folder)[-1].weights_hash
    assert json.loads(output.splitlines()[-1])["summary"]["weights_hash"] == rows_of(folder)[-1].weights_hash


DAMAGE = {
    "seed": "seeds = '[1, 3, 3]'",
    "weight": "weights = '[0.25, 2.0, 1.0000001]'",
    "infinite weight": "weights = '[0.25, Infinity, 1.0]'",
    "fewer weights": "weights = '[0.25]'",
    "weights of text": 'weights = \'["a", "b", "c"]\'',
    "huge weight": "weights = '[0.25, 1e300, 1.0]'",
    "alpha": "alpha = 0.02",
    "alpha of text": "alpha = 'much'",
    "hash": "weights_hash = 'f00'",
    "rollback": "rollback_to = 0",
    "rollback to itself": "rollback_to = 2",
    "rollback of text": "rollback_to = 'x'",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed row gives exit code 1 and one line with the number of the update; those before it can still
    be rebuilt."""
    folder = tmp_path / "run"
    logged(folder, RunConfig("tsp", model="scripted", scope="all"), scripted_tsp())
    assert rebuild(folder, None, as_json=False) == 0
    execute(f"UPDATE updates SET {DAMAGE[kind]} WHERE id = 2")(folder / FILE)
    capsys.readouterr()
    assert rebuild(folder, None, as_json=False) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert "update 2" in error
    assert rebuild(folder, None, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["equal"] is False
    assert rebuild(folder, 1, as_json=False) == 0


def test_a_lost_row_and_another_base_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 also for a row that is gone and for base weights that are not the run's."""
    folder = tmp_path / "run"
    logged(folder, RunConfig("tsp", model="scripted", scope="all"), scripted_tsp())
    execute("DELETE FROM updates WHERE id = 3")(folder / FILE)
    assert rebuild(folder, None, as_json=False) == 1
    assert "update 3 is lost" in capsys.readouterr().err
    execute("UPDATE meta SET value = 'f00' WHERE key = 'base_hash'")(folder / FILE)
    execute("DELETE FROM updates")(folder / FILE)
    assert rebuild(folder, None, as_json=False) == 1
    assert "--model" in capsys.readouterr().err


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model folder, its weights in two files."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("base")
    draw = torch.Generator().manual_seed(0)
    files = {
        "model-00001-of-00002.safetensors": {
            "model.embed_tokens.weight": (40, 16),
            "model.layers.0.mlp.up_proj.weight": (24, 16),
        },
        "model-00002-of-00002.safetensors": {
            "model.layers.0.input_layernorm.weight": (16,),
            "model.layers.0.self_attn.q_proj.bias": (16,),
        },
    }
    for file, shapes in files.items():
        tensors = {name: torch.randn(shape, generator=draw).bfloat16() for name, shape in shapes.items()}
        save_file(tensors, folder / file, {"format": "pt"})
    index = {
        "metadata": {"total_size": 1, "total_parameters": 1056},
        "weight_map": {name: file for file, shapes in files.items() for name in shapes},
    }
    for name, value in {
        "model.safetensors.index.json": index,
        "config.json": {"model_type": "llama", "dtype": "bfloat16", "hidden_size": 16},
        "tokenizer.json": {"é": 1},
        "generation_config.json": {},
        "ahd-files.json": {"model.safetensors": "0"},
        "pytorch_model.bin.index.json": {},
    }.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "pytorch_model.bin").write_bytes(b"old weights")
    return folder


CHOICES: list[dict[str, Any]] = [
    {"scope": "all"},
    {"scope": "norms"},
    {"kind": Kind.LOWRANK, "scope": "linear", "rank": 2},
    {"kind": Kind.LOWRANK, "scope": "all"},
    {"scope": "layers"},
]


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16, Dtype.FLOAT32])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_an_export_is_the_rounded_masters(
    tmp_path: Path, base: Path, choice: dict[str, Any], dtype: Dtype
) -> None:
    """Every tensor of the base is there, in the file it was in, and is the master rounded once to the number
    format of the engine, those out of scope included; the folder says so and holds nothing stale."""
    import torch
    from safetensors import safe_open

    folder, out = tmp_path / "run", tmp_path / "new" / "model"
    config = RunConfig("tsp", model=str(base), dtype=dtype, **choice)
    logged(folder, config, weights := Stored(config, dtype, str(base)))
    assert export(folder, out, None) == 0
    masters = dict(read_tensors(base, getattr(torch, dtype))) | weights.masters.arrays
    assert any(
        not np.array_equal(masters[name], values)
        for name, values in read_tensors(base, getattr(torch, dtype))
    )
    size = 0
    for source in base.glob("*.safetensors"):
        with safe_open(source, framework="pt") as old, safe_open(out / source.name, framework="pt") as new:
            assert set(old.keys()) == set(new.keys())
            assert old.metadata() == new.metadata()
            for name in new.keys():  # noqa: SIM118 (not a mapping)
                assert torch.equal(
                    new.get_tensor(name), torch.from_numpy(masters[name]).to(getattr(torch, dtype))
                )
                size += new.get_tensor(name).nbytes
        assert (out / source.name).stat().st_mode == (out / "config.json").stat().st_mode
    assert {path.name for path in out.iterdir()} == {
        *("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"),
        *("model.safetensors.index.json", "config.json", "tokenizer.json", "generation_config.json"),
        *("chat_template.jinja", "ahd.json"),
    }
    assert (out / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    about = json.loads((out / "config.json").read_text())
    assert about == {"model_type": "llama", "dtype": dtype, "hidden_size": 16}
    index = json.loads((out / "model.safetensors.index.json").read_text())
    old_index = json.loads((base / "model.safetensors.index.json").read_text())
    assert index == old_index | {"metadata": {"total_size": size, "total_parameters": 1056}}
    about = json.loads((out / "ahd.json").read_text())
    assert (about["run"], about["update"], about["weights_hash"]) == ("run", 4, weights.weights_hash())
    assert [path.name for path in out.parent.iterdir()] == ["model"]
    if dtype is Dtype.FLOAT32:
        assert Masters.load(out).hash() == weights.weights_hash()


def test_an_export_goes_on_where_the_run_was(tmp_path: Path, base: Path) -> None:
    """An earlier update can be exported, update 0 is the base, and an exported folder is a base model itself;
    a base that has moved is found with --model."""
    moved = tmp_path / "base"
    config = RunConfig("tsp", model=str(tmp_path / "gone"), dtype=Dtype.FLOAT32)
    logged(tmp_path / "run", config, Stored(config, "float32", str(base)))
    hashes = read(tmp_path / "run").hashes
    for number in (0, 1):
        out = tmp_path / f"out{number}"
        assert export(tmp_path / "run", out, number, str(base)) == 0
        assert Masters.load(out).hash() == hashes[number]
    (tmp_path / "out1").rename(moved)
    config = replace(config, model=str(moved))
    logged(tmp_path / "second", config, Stored(config, "float32", str(moved)), LOG[1:])
    assert list(read(tmp_path / "second").hashes.values()) == list(hashes.values())[1:]
    assert export(tmp_path / "second", tmp_path / "again", None) == 0
    with pytest.raises(Differs, match="files of the base model"):
        repeat(read(tmp_path / "second"), Stored(config, "float32", str(base)))


def test_an_export_that_differs_writes_nothing(
    tmp_path: Path, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged log gives exit code 1 and no folder."""
    config = RunConfig("tsp", model=str(base), dtype=Dtype.FLOAT32)
    logged(tmp_path / "run", config, Stored(config, "float32", str(base)))
    execute("UPDATE updates SET alpha = 1 WHERE id = 2")(tmp_path / "run" / FILE)
    assert export(tmp_path / "run", tmp_path / "out", None) == 1
    assert "update 2" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_free_folders_are_written(tmp_path: Path, base: Path) -> None:
    """An empty folder is filled, also through a link; one with a file in it, or a file, is refused and left
    as it is."""
    config = RunConfig("tsp", model=str(base), dtype=Dtype.FLOAT32)
    logged(tmp_path / "run", config, Stored(config, "float32", str(base)))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    assert export(tmp_path / "run", tmp_path / "link", None) == 0
    assert (tmp_path / "empty" / "ahd.json").is_file()
    before = sorted(tmp_path.rglob("*"))
    for out in (
        tmp_path / "empty",
        tmp_path / "link",
        tmp_path / "run" / FILE,
        tmp_path / "run" / FILE / "a",
    ):
        with pytest.raises(ConfigError, match="--out"):
            export(tmp_path / "run", out, None)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_that_an_older_ahd_began_is_refused(tmp_path: Path) -> None:
    """Its hashes cannot be compared any more."""
    logged(tmp_path / "run", RunConfig("tsp", model="scripted", scope="all"), scripted_tsp())
    with closing(Store.open(tmp_path / "run", write=True)) as store:
        store.set_meta(begun_with="1")
    with pytest.raises(ConfigError, match="older ahd"):
        read(tmp_path / "run")


def test_mistakes_are_named(tmp_path: Path) -> None:
    """What cannot be rebuilt or exported is refused in one line that names the option or the folder."""
    folder, new, out = tmp_path / "run", tmp_path / "new", tmp_path / "out"
    logged(folder, RunConfig("tsp", model="scripted", scope="all"), scripted_tsp())
    Store.create(new, RunConfig("tsp", model="scripted", scope="all")).close()
    mistakes: list[tuple[Callable[[], int], str]] = [
        (lambda: rebuild(folder, 5, False), "--update 5"),
        (lambda: rebuild(folder, -1, False), "--update -1"),
        (lambda: rebuild(folder, None, False, "no/such/folder"), "--model no/such/folder"),
        (lambda: rebuild(tmp_path, None, False), "not a run folder"),
        (lambda: rebuild(new, None, False), "ahd resume"),
        (lambda: export(folder, out, None), "scripted"),
    ]
    for call, word in mistakes:
        with pytest.raises(ConfigError) as caught:
            call()
        assert word in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not out.exists()


@pytest.mark.parametrize("arguments", [["export", "tests"], ["rebuild", "tests", "--update", "x"], []])
def test_mistakes_are_one_line(arguments: list[str]) -> None:
    """Exit code 2, one line on standard error, nothing on standard output."""
    done = ahd("weights", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("command", ["rebuild", "export"])
def test_help_shows_an_example(command: str) -> None:
    """Each command's help has an example to copy."""
    done = ahd("weights", command, "--help")
    assert done.returncode == 0
    assert f"ahd weights {command}" in done.stdout.split("Example", 1)[1]
