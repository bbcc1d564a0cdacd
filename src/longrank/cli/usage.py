"""Help and usage errors: click's plain help with commands in groups and examples at the end.

A usage error is one sentence on what is wrong, then the usage and where it is explained.
"""

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from longrank.cli.terminal import refuse

# Typer raises these exceptions, but does not export them.
UsageError: Any = typer.BadParameter.__mro__[1]
CLAUSE = "Input should "  # how Typer's messages about values begin
EXAMPLE = re.compile(r"^([^`]+):\s`(longrank [^`]+)`(.*)$", re.DOTALL)


class Command(TyperCommand):
    """A command whose help ends with its examples: the last paragraphs of its docstring."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rich_markup_mode = None
        paragraphs = re.split(r"\n\s*\n", (self.help or "").strip())
        examples = [match for text in paragraphs if (match := EXAMPLE.match(text))]
        self.help = "\n\n".join(text for text in paragraphs if not EXAMPLE.match(text))
        self.epilog = "\n\n".join(map(_example, examples)) or None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name: ``[OPTIONS] PATH...``."""
        return [re.sub(r"[{}]|\.{3}(?=})", "", text) for text in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an error about an option's value quotes it."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None:
                error.message = quote(error.message.rstrip("."), given, error.param)
            raise


def _example(match: re.Match[str]) -> str:
    remark = " ".join(f"{match[1]}{match[3]}".split())
    return f"\b\n{remark}:\n  {' '.join(match[2].split())}"


class Group(TyperGroup):
    """A group whose help lists its commands by their panels; a usage error is one sentence."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rich_markup_mode = None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write a section for each panel, with the first sentence of each command."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            title = getattr(command, "rich_help_panel", None)
            rows = panels.setdefault(title if isinstance(title, str) else "Commands", [])
            rows.append((name, command.get_short_help_str(200)))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def main(self, *args: Any, **more: Any) -> Any:
        """Run the command; print what is wrong with the arguments as one sentence and a hint."""
        if not more.pop("standalone_mode", True):
            return super().main(*args, **more | {"standalone_mode": False})
        try:
            code = super().main(*args, **more | {"standalone_mode": False})
        except typer.Abort:
            refuse("aborted")
            sys.exit(1)
        except UsageError as error:
            complain(error)
            sys.exit(2)
        sys.exit(code)


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
        known = [name for param in error.ctx.command.get_params(error.ctx) for name in param.opts]
        close = get_close_matches(option, known, 1)
        return f"no such option: {option}" + (f". Did you mean {close[0]}?" if close else "")
    if isinstance(error, typer.BadParameter) and error.param is not None:
        if error.message.startswith(CLAUSE):
            rule = re.sub(r", unable to parse [^(]*(?= \(|$)", "", error.message)
            rule = rule.replace("less than or equal to", "at most")
            rule = rule.replace("greater than or equal to", "at least")
            rule = re.sub(r" \((got '.*')\)$", r", \1", rule)
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
