"""Every command that a reader is told to type works, in a fresh clone of the repository.

All of them are parsed: the target, file, command, option or extra must exist. Those that are quick
and need no network are run in ``make test``. The README is followed from the top in
``make test-all``, the tutorial and the service's page by their own tests.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from pages import DOCS, FENCE, README, ROOT, blocks, pages
from reader import bare, bash, clone, commands, environment, wait_for
from serving import free_port

from longrank import Payoffs, cli, recommended
from longrank.logs import write
from longrank.logs.example import example
from longrank.service import Engine, open_store
from longrank.service.messages import ModelRequest

PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", *pages()]
TYPED = sorted({command for page in PAGES for command in commands(page)})
USAGE = typer.BadParameter.__mro__[1]  # whatever the command line refuses
INLINE = re.compile(r"(longrank [a-z-]|make [a-z]|pip install|python [a-z]+/)")
SHELL = {"cd", "cp", "curl", "gpg", "mkdir", "mv", "sha256sum", "source", "tar"}
LATER = re.compile(
    r"pip |make |git |curl |python |cd dist|"
    r"longrank (bench|data get|data add|demo|play|report|reproduce|run|serve|warm)"
)


def longrank(words: list[str]) -> None:
    command = typer.main.get_command(cli.app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    assert not hasattr(command, "commands") or not words or words[0].startswith("-"), words
    context = command.context_class(command)
    given, rest, _ = command.make_parser(context).parse_args(list(words))
    assert not rest, f"too much: {rest}"
    for parameter in command.params:
        value = given.get(parameter.name)
        if value not in (None, True) and parameter.bare_type is not Path and not parameter.is_eager:
            parameter.process_value(context, value)  # a number where a number belongs


def make(words: list[str]) -> None:
    text = (ROOT / "Makefile").read_text()
    for word in words:
        name, _, value = word.partition("=")
        assert re.search(rf"^{name} \?=|\({name}\)" if value else rf"^{name}:", text, re.MULTILINE)


def python(words: list[str]) -> None:
    if words[0] == "-m":
        assert words[1] in ("venv", "longrank", "json.tool"), words[1]
        return
    if words[0].endswith("/NAME.py") or "/" not in words[0]:  # a reader's own file
        return
    assert (ROOT / words[0]).is_file(), words[0]
    text = (ROOT / words[0]).read_text()
    for word in words[1:]:
        assert not word.startswith("--") or f'"{word.partition("=")[0]}"' in text, word


def pip(words: list[str]) -> None:
    if words[0] == "download":
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    form = re.fullmatch(r"install (-e )?\.(\[([\w,]+)\])?", " ".join(words))
    assert form, "only a checkout can be installed: pip install '.[extra]'"
    assert set((form[3] or "test").split(",")) <= set(project["optional-dependencies"])


KINDS = {"longrank": longrank, "make": make, "python": python, "python3": python, "pip": pip}


def check(command: str) -> str:
    """What is wrong with a command, or nothing."""
    for part in re.split(r" && | \| ", command.replace("$(date +%F)", "today")):
        program, *words = shlex.split(part, comments=True)
        try:
            if program in KINDS:
                KINDS[program](words)
            else:
                known = program in SHELL or re.match(r"[A-Z]+=", program)
                assert known or (program, words[:1]) == ("git", ["clone"]), "an unknown program"
        except (AssertionError, USAGE) as error:
            if "does not exist" not in str(error):  # files are the reader's
                return f"{command}: {error}"
    return ""


def test_every_command_exists_with_its_options():
    assert len(TYPED) > 80
    assert [problem for problem in map(check, TYPED) if problem] == []
    for page in PAGES:
        for block in blocks(page):
            assert block.language, f"{page.name}: a block is sh, or says what it is: {block.text}"


def test_every_command_in_a_sentence_exists_with_its_options():
    texts = [FENCE.sub("", page.read_text()) for page in PAGES]
    spans = {span for text in texts for span in re.findall(r"`([^`]+)`", text)}
    inline = {" ".join(span.split()) for span in spans if INLINE.match(span)}
    inline = {each for each in inline if not re.search(r"\.\.\.|COMMAND|NAME", each)}
    published = "pip install 'longrank[service]'"
    assert published in inline
    assert [problem for problem in map(check, sorted(inline - {published})) if problem] == []


def test_longrank_is_installed_from_a_checkout_everywhere():
    """There is none on any index: two pages say how it will be."""
    saying = {page for page in PAGES if re.search(r"pip install '?longrank", page.read_text())}
    assert saying == {README, DOCS / "releasing.md"}
    assert README.read_text().count("pip install 'longrank") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        "longrank evaluate log.csv --polcy ind",
        "longrank serve --port x",
        "longrank logs chek log.csv",
        "make tests",
        "python benchmarks/nothing.py",
        "pip install 'longrank[service]'",
        "pip install '.[servce]'",
        "lonrank play",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(wrong):
    assert check(wrong)


def prepare(folder):
    """The files that pages speak of, as a reader would have them."""
    for name in ("since-then", "backups"):
        (folder / name).mkdir()
    for name in ("log.csv", "log.parquet", "routes.jsonl", "since-then/log.parquet"):
        write(folder / name, example(decisions=60))
    policy = recommended()
    policy.rank([{"id": "adyen"}, {"id": "stripe"}], Payoffs.vanilla(2))
    for name in ("mine.longrank", "candidate.longrank"):
        policy.save(folder / name)
    engine = Engine(open_store(str(folder / "decisions.db"))).start()
    engine.create("routes", ModelRequest())
    engine.close()


def run(command, folder, variables):
    """Run a command; a gate that does not promote ends with 3 or 4."""
    command = command.replace("/backups/", "backups/")
    if "--gate" in command:
        command += " || [[ $? == [34] ]]"
    return bash(command, folder, variables)


def test_quick_commands_run_in_a_fresh_clone(tmp_path):
    folder = clone(tmp_path / "longrank")
    prepare(folder)
    variables = environment(tmp_path / "bin", folder) | {"HOME": str(tmp_path)}
    done = []
    for page in PAGES:
        if page.name not in ("tutorial.md", "service.md"):
            for command in commands(page):
                if command not in done and not LATER.match(command):
                    run(command, folder, variables)
                    done.append(command)
    assert len(done) > 10, done


@pytest.fixture
def fresh(tmp_path):
    """A repository to clone, all of it committed, and variables without this environment."""
    variables = bare()
    folder = clone(tmp_path / "longrank")
    commit = "git -c user.name=x -c user.email=x@x commit --quiet --allow-empty --message=x"
    bash(f"git add --all && {commit}", folder, variables)
    return folder, variables


@pytest.mark.long
def test_the_readme_from_the_top_literally(fresh, tmp_path):
    """Clone, ``make demo`` and ``make play``; then an installation, a wheel, and the five lines."""
    repository, variables = fresh
    cloning, demo, play, test, *install, wheel = commands(README)
    home = tmp_path / "home"
    home.mkdir()
    bash(cloning.replace("REPOSITORY", str(repository)), home, variables)
    folder = home / "longrank"
    assert "perfect knowledge" in bash(demo, folder, variables)
    assert (folder / "demo" / "average-reward.png").is_file()
    bash(test.replace("make", "make --dry-run"), folder, variables)  # this is a part of it

    assert play == "make play"
    bash("make --dry-run play | grep -x '.venv/bin/longrank play'", folder, variables)
    port = free_port()
    command = [f"{folder}/.venv/bin/longrank", "play", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/", server)
    finally:
        server.terminate()
        server.wait(120)

    bash(f"python3 -m venv {home}/own", home, variables)
    own = variables | {"PATH": f"{home}/own/bin:{variables['PATH']}"}
    for command in (*install, f"{wheel} && pip install --no-deps --force-reinstall dist/*.whl"):
        assert command.startswith(("pip install", "make wheel"))
        bash(command, folder, own)
        assert "'worldpay'" in bash(f"python -c '{five_lines()}'", home, own)


def five_lines() -> str:
    block = next(block for block in blocks(README) if block.language == "python")
    assert block.text.count(">>>") == 6
    assert "'" not in block.text
    return re.sub(r"^>>> ", "", block.text, flags=re.MULTILINE) + "\nprint(ranking.ids)"


@pytest.mark.long
def test_a_release_is_built_checked_and_signed(fresh, tmp_path):
    folder, variables = fresh
    variables["GNUPGHOME"] = str(tmp_path / "keys")
    (tmp_path / "keys").mkdir(mode=0o700)
    key = (
        "gpg --batch --quiet --passphrase '' --quick-generate-key a@example.org ed25519 sign never"
    )
    bash(key, folder, variables)
    release, check = commands(DOCS / "releasing.md")
    said = bash(release.replace("KEY", "a@example.org"), folder, variables)
    assert "Nothing was uploaded" in said
    assert len(list((folder / "dist").iterdir())) == 6
    bash(check, folder, variables)
    (folder / "README.md").write_text("changed")
    bash("make release 2>&1 | grep 'commit these changes first'", folder, variables)
    bash("gpgconf --kill all", folder, variables)


@pytest.mark.long
def test_experiments_run_and_are_reported_in_a_fresh_clone(tmp_path):
    folder = clone(tmp_path / "longrank")
    variables = environment(tmp_path / "bin", folder) | {"HOME": str(tmp_path)}
    variables["LONGRANK_KERNELS"] = "auto"
    typed = list(commands(DOCS / "commands.md"))
    for start in ("longrank run", "longrank report"):
        [command] = [command for command in typed if command.startswith(start)]
        bash(command, folder, variables)
    assert (folder / "report" / "report.html").is_file()
