"""Options from the environment and from a TOML file.

The command line overrides the environment, which overrides the file, which overrides the default.
"""

import os
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperOption

from longrank.cli.usage import Command
from longrank.errors import BadFile

PREFIX = "LONGRANK_"


class Configured(Command):
    """A command whose every option can also be set by a variable: ``--port`` by LONGRANK_PORT."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in settings(self):
            option.envvar = PREFIX + str(option.name).upper()
            option.show_envvar = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; errors name a value's source."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None:
                error.message += _origin(ctx, str(error.param.name))
            raise


def _origin(ctx: Any, name: str) -> str:
    source = ctx.get_parameter_source(name)
    if source is None or source.name not in ("ENVIRONMENT", "DEFAULT_MAP"):
        return ""
    variable = PREFIX + name.upper()
    if source.name == "ENVIRONMENT":
        return f" (got {os.environ[variable]!r} from {variable})"
    return f" (got {ctx.default_map[name]!r} from key '{name}' of {ctx.meta[PREFIX]})"


def settings(command: Any) -> Iterator[TyperOption]:
    """Yield the options that can also be set by a variable or a file: all that the help shows."""
    for option in command.params:
        if isinstance(option, TyperOption) and not option.hidden:
            yield option


def read(ctx: typer.Context, path: Path | None) -> Path | None:
    """Take options from a TOML file: the callback of ``--config``."""
    if path is None or ctx.resilient_parsing:
        return path
    names = {str(option.name) for option in settings(ctx.command)} - {"config"}
    values: dict[str, Any] = {}
    for key, value in _table(path).items():
        name = key.replace("-", "_")
        if name not in names:
            close = get_close_matches(name, names, 1)
            keys = f"the keys are {', '.join(sorted(names))}"
            hint = f"do you mean '{close[0]}'?" if close else keys
            raise BadFile(f"{path}: there is no option '{key}' of {ctx.info_name}; {hint}")
        if name in values:
            raise BadFile(f"{path}: '{key}' is there twice, with a hyphen and with an underscore")
        values[name] = _text(path, key, value)
    ctx.meta[PREFIX] = path
    ctx.default_map = values
    return path


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} is not TOML: {error}") from None


def _text(path: Path, key: str, value: Any) -> str:
    """Return a value as it would be written in the environment, so that the same rules apply."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    rule = "text, a number, true, false or a list of texts"
    raise BadFile(f"{path}: '{key}' must be {rule}, got {value!r}")
