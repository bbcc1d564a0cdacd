"""The installed wheel, in clean environments: bare, and with each extra that runs something."""

import json
import re
import signal
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest
from installing import HERE

import longrank

pytestmark = pytest.mark.long

FOLDERS = {
    "longrank.service": "service",
    "longrank.experiments": "experiments",
    "longrank.integrations.gymnasium": "gym",
    "longrank.testing": "test",
}
NEEDS = {
    "demo": "experiments",
    "play": "service",
    "run logistic": "experiments",
    "report .": "experiments",
    "reproduce": "experiments",
    "serve": "service",
    "backup copy.db": "service",
}
LOG = "".join(
    json.dumps(
        {
            "id": n,
            "items": [[0.5, n % 7 / 10], [0.1, n % 3 / 10], [0.2, 0.3]],
            "order": [n % 3, (n + 1) % 3],
            "tried": 1 + n % 2,
            "succeeded": n % 5 > 0,
            "rewards": [1.0, 0.5],
            "losses": [0.0, -0.1, -0.2],
        }
    )
    + "\n"
    for n in range(40)
)


def modules(wheel: Path) -> list[str]:
    """The modules of the wheel, found by its files."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
    return [name[:-3].replace("/", ".").removesuffix(".__init__") for name in names]


def test_every_module_imports_and_every_command_has_a_help(installed, extra, wheel, tmp_path):
    listed = "\n".join(modules(wheel))
    found = json.loads(installed.python_run(str(HERE / "walk.py"), cwd=tmp_path, stdin=listed))
    assert (installed.below or installed).packages in Path(found["file"]).parents
    for module, problem in found["modules"].items():
        home = next((FOLDERS[folder] for folder in FOLDERS if module.startswith(folder)), extra)
        if home == extra:
            assert not problem, f"{module}: {problem}"
        elif problem:  # of another extra: it says so, or names a package of that extra
            kind, _, missing = problem.partition(": ")
            assert f".[{home}]" in missing or not missing.startswith("longrank"), problem
            assert kind in ("MissingExtra", "ModuleNotFoundError"), problem
    assert len(found["helps"]) > 20
    assert not any(found["helps"].values()), found["helps"]


def test_the_command_names_its_version(installed, tmp_path):
    said = f"longrank {longrank.__version__}\n"
    assert installed.run("--version", cwd=tmp_path) == said
    assert installed.python_run("-m", "longrank", "--version", cwd=tmp_path) == said


def test_the_help_says_what_the_commands_to_start_with_need(environment, tmp_path):
    said = " ".join(environment("bare").run("--help", cwd=tmp_path).split())
    for command in ("play", "demo"):
        needed = f"`longrank {command}` (needs `pip install '.[{NEEDS[command]}]'`)"
        assert needed in said


@pytest.mark.parametrize("command", NEEDS)
def test_a_command_without_its_extra_says_which_one_in_one_sentence(environment, command, tmp_path):
    name, needed = command.split()[0], NEEDS[command]
    install = f"pip install '.[{needed}]' in longrank's checkout"
    sentence = f"longrank: `longrank {name}` needs more packages: {install}"
    for extra in {"bare", "logs", "experiments", "service"} - {needed}:
        said = environment(extra).run(*command.split(), cwd=tmp_path, code=2)
        assert said.splitlines() == [sentence]
    assert not [path for path in tmp_path.iterdir() if path.name != ".cache"]


def test_the_doctor_checks_kernels_without_an_extra_and_names_the_one_it_needs(
    environment, tmp_path
):
    bare = environment("bare")
    output, errors = bare.start([*bare.longrank, "doctor"], tmp_path).communicate(timeout=300)
    assert output.startswith("ok   kernels")
    assert "`longrank doctor` needs more packages: pip install '.[service]'" in errors


def test_reading_parquet_and_running_on_a_cluster_say_what_they_need(environment, tmp_path):
    (tmp_path / "log.parquet").touch()
    for command in (["logs", "check"], ["evaluate", "--policy", "ind"]):
        said = environment("bare").run(*command, "log.parquet", cwd=tmp_path, code=2)
        assert said.count("\n") == 1
        assert "pip install '.[logs]'" in said
    command = ["run", "logistic", "--policies", "rand", "--budgets", "1", "--backend", "dask"]
    said = environment("experiments").run(*command, cwd=tmp_path, code=2)
    assert "the dask backend needs more packages: pip install '.[cluster]'" in said


def test_the_demo_runs(environment, tmp_path):
    output = environment("experiments").run("demo", "--rounds", "20", cwd=tmp_path)
    assert "recommended" in output
    assert (tmp_path / "demo" / "average-reward.png").stat().st_size > 10_000


def test_experiments_run_and_are_reported(environment, tmp_path):
    experiments = environment("experiments")
    command = ["run", "payments-8", "--scenario", "vanilla", "--budgets", "5", "--jobs", "2"]
    output = experiments.run(*command, "--policies", "rand,c-ucb1", cwd=tmp_path)
    assert "2 cells run, 0 failed" in output
    experiments.run("report", "results", cwd=tmp_path)
    assert "</html>" in (tmp_path / "report" / "report.html").read_text()


@pytest.mark.parametrize("extra", ["bare", "logs"])
def test_a_log_is_checked_and_policies_are_evaluated(environment, extra, tmp_path):
    installed = environment(extra)
    (tmp_path / "log.jsonl").write_text(LOG)
    log = "log.jsonl"
    if extra == "logs":
        code = "import pyarrow.json, pyarrow.parquet as pq; "
        code += "pq.write_table(pyarrow.json.read_json('log.jsonl'), 'log.parquet')"
        installed.python_run("-c", code, cwd=tmp_path)
        log = "log.parquet"
    assert "40 decisions" in installed.run("logs", "check", log, cwd=tmp_path)
    command = ["evaluate", log, "--policy", "ind:rate=5", "--report", "report.html"]
    assert "20 to learn from" in installed.run(*command, cwd=tmp_path)
    assert "</html>" in (tmp_path / "report.html").read_text()


def ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=60) as answer:
            return answer.status == 200
    except OSError:  # not listening yet, or not ready yet
        time.sleep(0.01)
        return False


def test_the_service_serves_and_the_doctor_examines(environment, tmp_path):
    service = environment("service")
    command = [*service.longrank, "serve", "--port", "0", "--no-auth"]
    process = service.start(command, tmp_path, env={"PYTHONUNBUFFERED": "1"})
    try:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        deadline = time.monotonic() + 120.0
        while not ready(address):
            assert process.poll() is None
            assert time.monotonic() < deadline
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "0 models" in service.run("doctor", cwd=tmp_path)


def test_completion_is_offered_for_commands_and_choices(environment, tmp_path):
    for words, offered in (("longrank ev", "evaluate"), ("longrank run x --grid q", "quick")):
        env = {
            "_LONGRANK_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        assert environment("bare").run(cwd=tmp_path, env=env).split() == [offered]
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = environment("bare").run("--show-completion", "bash", cwd=tmp_path, env=env)
    assert "_LONGRANK_COMPLETE" in shown
