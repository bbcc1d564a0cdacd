"""Build what a release would upload, check it, write its checksums, and sign it: `make release`.

Nothing is uploaded. docs/releasing.md says what to do with the result.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
FIVE_LINES = re.compile(r"^## Five lines\n+```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sign", metavar="KEY", help="sign with this key of gpg's")
    parser.add_argument("--packages", metavar="FOLDER", help="of wheels, instead of the index")
    options = parser.parse_args()
    version = check_repository()
    with tempfile.TemporaryDirectory() as folder:
        sdist, wheel = build(Path(folder), version)
        check_contents(sdist, wheel)
        check_metadata(wheel, version)
        check_installed(wheel, Path(folder) / "environment", version, options.packages)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        files = [Path(shutil.copy2(path, DIST)) for path in (sdist, wheel)]
    sums = DIST / "SHA256SUMS"
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    sums.write_text("".join(lines))
    if options.sign:
        for path in (*files, sums):
            run("gpg", "--yes", "--armor", "--local-user", options.sign, "--detach-sign", path)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>10,}  dist/{path.name}")
    print("Checked. Nothing was uploaded: docs/releasing.md")
    if "dev" in version:
        print(f"{version} is a development version: set __version__ before you publish.")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(condition: object, otherwise: str) -> None:
    if not condition:
        sys.exit(f"release: {otherwise}")


def check_repository() -> str:
    """Refuse what is not committed or not in the changelog; the version."""
    changes = run("git", "status", "--porcelain")
    require(not changes, f"commit these changes first, or undo them:\n{changes}")
    text = (ROOT / "src" / "longrank" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]
    heading = "Unreleased" if "dev" in version else version
    changelog = (ROOT / "CHANGELOG.md").read_text()
    require(f"\n## [{heading}]" in changelog, f"CHANGELOG.md has no section [{heading}]")
    return version


def build(folder: Path, version: str) -> tuple[Path, Path]:
    """Build the sdist from what is committed, and the wheel from the sdist."""
    source = folder / "source"
    run("git", "clone", "--quiet", ROOT, source)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=source)
    sdist = folder / f"longrank-{version}.tar.gz"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    unpacked = folder / "unpacked" / f"longrank-{version}"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    return sdist, folder / f"longrank-{version}-py3-none-any.whl"


def check_contents(sdist: Path, wheel: Path) -> None:
    """The wheel holds the committed files of the package; the sdist all that builds and tests."""
    tracked = set(run("git", "ls-files").splitlines())
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/longrank/")}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    require(held == package, f"the wheel and git differ: {sorted(held ^ package)}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    strange = names - tracked - {"PKG-INFO", ""}
    require(not strange, f"the sdist holds files that are not committed: {sorted(strange)}")
    missing = {name for name in tracked if name.startswith(("src/", "tests/"))} - names
    require(not missing, f"the sdist lacks {sorted(missing)}")


def check_metadata(wheel: Path, version: str) -> None:
    """What an index shows: name, version, licence, Pythons, and a README that it can render."""
    with zipfile.ZipFile(wheel) as archive:
        folder = f"longrank-{version}.dist-info"
        metadata = message_from_bytes(archive.read(f"{folder}/METADATA"))
        require(f"{folder}/licenses/LICENSE" in archive.namelist(), "the wheel has no licence")
    expected = {
        "Name": "longrank",
        "Version": version,
        "License-Expression": "Apache-2.0",
        "Requires-Python": "<3.15,>=3.11",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in expected.items():
        require(metadata[field] == value, f"{field} is {metadata[field]!r}, not {value!r}")
    require("# longrank" in metadata.get_payload(), "the README is not in the metadata")


def check_installed(wheel: Path, folder: Path, version: str, packages: str | None) -> None:
    """Install the wheel in a clean environment, and run the five lines of the README there."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    offline = ["--no-index", "--find-links", packages] if packages else []
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *offline]
    run(*pip, wheel)
    said = run(folder / "bin" / "longrank", "--version", cwd=folder)
    require(said == f"longrank {version}\n", f"the installed command says {said!r}")
    lines = FIVE_LINES.search((ROOT / "README.md").read_text())[1]
    program = re.sub(r"^(>>>|\.\.\.) ?", "", lines, flags=re.MULTILINE)
    said = run(python, "-c", f"{program}\nprint(ranking.ids, policy.learner.updates)", cwd=folder)
    require("adyen" in said, f"the five lines of the README print {said!r}")


if __name__ == "__main__":
    main()
