"""The stubs say what the package does, and type checkers take users' programs.

They see the package where it is imported from: installed, or in place.
"""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import allotrope

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "typing"
EXAMPLES = ROOT / "examples"


def run(*command: object, cwd: pathlib.Path = PROGRAMS) -> str:
    """What a checker says; nothing if it found nothing."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def checker(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the stubs have the syntax of 3.10")
def test_the_stubs_are_what_runs(tmp_path):
    checker("mypy")
    config, allowed = ROOT / "pyproject.toml", PROGRAMS / "stubtest.txt"
    package = pathlib.Path(allotrope.__file__).parent.parent
    # Among what is installed mypy would take itself for a module of the user's.
    place = tmp_path if (package / "mypy").exists() else package
    found = run(
        sys.executable, "-m", "mypy.stubtest", "--concise", "--mypy-config-file", config,
        "--allowlist", allowed, "--ignore-unused-allowlist", "allotrope", cwd=place,
    )  # fmt: skip
    assert found == ""


@pytest.mark.parametrize("folder", [PROGRAMS, EXAMPLES], ids=["programs", "examples"])
def test_mypy_takes_programs(folder):
    checker("mypy")
    config, files = ROOT / "pyproject.toml", sorted(folder.glob("*.py"))
    found = run(sys.executable, "-m", "mypy", "--strict", "--config-file", config, *files, cwd=folder)
    assert found == ""


def test_pyright_takes_programs():
    checker("pyright")
    # Its first start brings a part of it from a registry.
    version = run(sys.executable, "-m", "pyright", "--version")
    if version:
        pytest.skip(f"pyright does not start: {version.splitlines()[-1]}")
    found = run(
        sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", ROOT / "pyproject.toml"
    )
    assert found == ""


def test_the_package_itself_is_strict():
    """Bodies too: what its functions give is what they say."""
    checker("mypy")
    found = run(
        sys.executable, "-m", "mypy", "--strict", "--config-file", ROOT / "pyproject.toml", "allotrope", cwd=ROOT / "python"
    )
    assert found == ""
