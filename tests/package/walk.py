"""Run in a clean environment: import modules, ask every command for help, print what happened.

The modules are lines of standard input; the answer is JSON on standard output.
"""

import importlib
import json
import sys


def outcome(module: str) -> str:
    """Import a module; empty if it works, else the kind of error and what is missing."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        return f"ModuleNotFoundError: {error.name}"
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def commands(group, path=()):
    """Every command and group, as the words that call it."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


def helps() -> dict[str, int]:
    """The exit code of each command's help, by its words."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from longrank.cli import app

    return {
        " ".join([*words, flag]): CliRunner().invoke(app, [*words, flag]).exit_code
        for words in commands(get_command(app))
        for flag in ("--help", "-h")
    }


if __name__ == "__main__":
    modules = {name: outcome(name) for name in sys.stdin.read().split()}
    file = sys.modules["longrank"].__file__
    print(json.dumps({"modules": modules, "helps": helps(), "file": file}))
