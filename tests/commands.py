"""The commands and options of the command line, read from the signatures of their functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any, get_args, get_origin

from typer.models import OptionInfo

from longrank import cli


@dataclass(frozen=True)
class Option:
    """An option: the words of its command, how it is written, its type, what typer knows."""

    command: str
    flag: str
    kind: Any
    info: OptionInfo


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its function: ``("logs check", check)``."""
    groups = [("", cli.app)] + [(f"{g.name} ", g.typer_instance) for g in cli.app.registered_groups]
    for prefix, group in groups:
        for command in group.registered_commands:
            yield prefix + (command.name or command.callback.__name__), command.callback


def options() -> Iterator[Option]:
    """Every option of every command, hidden ones too."""
    for words, function in commands():
        for name, parameter in signature(function, eval_str=True).parameters.items():
            hint = parameter.annotation
            if get_origin(hint) is Annotated and isinstance(get_args(hint)[1], OptionInfo):
                kind, info = get_args(hint)
                yield Option(words, f"--{name.replace('_', '-')}", kind, info)
