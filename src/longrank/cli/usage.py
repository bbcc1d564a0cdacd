"""Usage errors: one sentence on what is wrong, then the usage and where it is explained."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer

from longrank.cli.terminal import refuse

# Typer raises these exceptions, but does not export them.
UsageError: Any = typer.BadParameter.__mro__[1]
CLAUSE = "Input should "  # how Typer's messages about values begin


def complain(error: Any) -> None:
    """Print a usage error on standard error."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return
    sentence = _sentence(error).rstrip(".")
    refuse(sentence[:1].lower() + sentence[1:])
    if error.ctx is not None:
        usage = " ".join(error.ctx.get_usage().split())
        print(f"{usage}\nTry '{error.ctx.command_path} --help'.", file=sys.stderr)


def _sentence(error: Any) -> str:
    message = str(error.format_message())
    if (option := getattr(error, "option_name", None)) and "o such option" in message:
        known = [name for one in error.ctx.command.get_params(error.ctx) for name in one.opts]
        close = get_close_matches(option, known, 1)
        return f"no such option: {option}" + (f". Did you mean {close[0]}?" if close else "")
    if isinstance(error, typer.BadParameter) and error.param is not None:
        if error.message.startswith(CLAUSE):
            rule = re.sub(r", unable to parse [^(]*(?= \(|$)", "", error.message)
            return f"{error.param.opts[0]} must {rule.removeprefix(CLAUSE)}"
        return re.sub(r" \(env var: '\w+'\)|(?<=: )Value error, ", "", message)
    return message


def quote(message: str, args: Sequence[str], param: Any) -> str:
    """Add an option's value, as it stands in the arguments, to a message that lacks it.

    >>> from types import SimpleNamespace
    >>> quote("too large", ["--port", "9", "--host", "y"], SimpleNamespace(opts=["--port"]))
    "too large (got '9')"
    """
    for word, following in zip(args, [*args, ""][1:], strict=True):
        option, equals, value = word.partition("=")
        value = value if equals else following
        if option in param.opts and value and repr(value) not in message:
            return f"{message} (got {value!r})"
    return message


def spelled(parameter: str, args: Sequence[str]) -> str:
    """Return a parameter as the user wrote it, if it is an option among the arguments.

    >>> spelled("extra_cost", ["longrank", "evaluate", "log.csv", "--extra-cost", "inf"])
    '--extra-cost'
    """
    option = f"--{parameter.replace('_', '-')}"
    return option if any(word.partition("=")[0] == option for word in args) else parameter
