"""What the wheel and the sdist hold."""

import doctest
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from installing import ROOT, build, required, requirements

import longrank


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sources() -> set[str]:
    """The files of the package in the source tree, without what Python and numba leave there."""
    folder = ROOT / "src" / "longrank"
    found = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in found if path.parent.name != "__pycache__")
    return {path.relative_to(ROOT / "src").as_posix() for path in kept}


def known_to_git() -> set[str]:
    """The files of the package that git tracks, or would track: those that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/longrank"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = (line for line in listed.splitlines() if (ROOT / line).is_file())
    return {line.removeprefix("src/") for line in found}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    held = {name for name in files(wheel) if ".dist-info/" not in name}
    assert held == sources()
    if (ROOT / ".git").exists():
        assert held == known_to_git()


def test_the_first_lines_of_the_readme_run_from_the_wheel(wheel, tmp_path):
    """Only longrank is installed; what it requires is that of the tests' environment."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run([*pip, *offline], check=True)
    examples = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text())
    told = next(i for i, example in enumerate(examples) if "policy.learn(" in example.source)
    code = "".join(example.source for example in examples[: told + 1])
    code += "import longrank; print(longrank.__file__, policy.learner.updates)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    file = tmp_path / "site" / "longrank" / "__init__.py"
    assert (done.stdout, done.stderr) == (f"{file} 2\n", "")


@pytest.mark.long
def test_the_sdist_builds_an_equal_wheel(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    build(tmp_path / "again", source, "wheel")
    [again] = (tmp_path / "again").glob("*.whl")
    assert files(again) == files(wheel)


def test_the_metadata_is_that_of_the_project_and_the_base_install_small(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert wheel.name == f"longrank-{longrank.__version__}-py3-none-any.whl"
    assert project["dynamic"] == ["version"]
    wanted, extras = requirements(wheel)
    assert sorted(extras) == sorted(project["optional-dependencies"])
    direct = {requirement.name for requirement in wanted if requirement.marker is None}
    assert direct == {"numpy", "numba", "typer", "rich"}


@pytest.mark.long
@pytest.mark.parametrize("extra", ["cluster", "docs", "test", "check"])
def test_what_the_other_extras_require_is_installed_in_versions_that_agree(wheel, extra):
    wanted, _ = requirements(wheel)
    assert required(wanted, {extra}) > required(wanted, set())
