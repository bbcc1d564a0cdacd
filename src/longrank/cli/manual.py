"""Help pages: one layout for every command and group.

Typer has a column each for name, short name, opposite, type and range of an option, which leaves
22 of 80 characters to the explanation. Here name and value share a column.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from longrank.cli.terminal import refuse
from longrank.cli.usage import UsageError, complain, quote

NAMES = 30  # maximum width of the column of names, with the values that they take
WIDEST = 100  # characters of a line, however wide the terminal is
NARROW = 72  # on a narrower terminal an explanation stands below its name
TYPES = {"int": "INTEGER", "float": "FLOAT", "str": "TEXT"}
EXAMPLE = re.compile(r"^([^`]+):\s`(longrank [^`]+)`(.*)$", re.DOTALL)


class _Page:
    """A command or group whose help is a page of two columns."""

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        """Return what follows the command's name: ``[OPTIONS] PATH...``."""
        values = [str(one.metavar or one.name.upper()) for one in _arguments(self, ctx)]
        group = [self.subcommand_metavar] if isinstance(self, TyperGroup) else []
        return [self.options_metavar, *values, *group]

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        """Write usage, explanation, a section for each group of entries, and examples."""
        console = Console()
        width = min(console.width, WIDEST)
        with console.capture() as page:
            console.print(Group(*_parts(self, ctx, width)), highlight=False, width=width)
        formatter.write("\n".join(line.rstrip() for line in page.get().splitlines()) + "\n")

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a complaint about an option's value quotes it."""
        given = list(args)
        try:
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            if error.param is not None:
                error.message = quote(error.message.rstrip("."), given, error.param)
            raise
        return rest


class Explained(_Page, TyperCommand):
    """A command with a help page of two columns."""


class ExplainedGroup(_Page, TyperGroup):
    """A group of commands with a help page of two columns; a usage error is one sentence."""

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


def _parts(command: Any, ctx: Any, width: int) -> Iterator[RenderableType]:
    yield Text(command.get_usage(ctx), style="bold")
    paragraphs = re.split(r"\n\s*\n", (command.help or "").strip())
    examples = [found for one in paragraphs if (found := EXAMPLE.match(one))]
    for paragraph in paragraphs:
        if paragraph and not EXAMPLE.match(paragraph):
            yield Padding(_styled(" ".join(paragraph.split())), (1, 0, 0, 0))
    sections = _sections(command, ctx)
    names = [len(name) for rows in sections.values() for name, _ in rows]
    column = min(NAMES, max(names))
    for title, rows in sections.items():
        yield Text(f"\n{title}:", style="bold")
        yield _table(rows, column) if width >= NARROW else _stack(rows)
    if examples:
        yield Text("\nExamples:", style="bold")
    for found in examples:
        remark = found[1] if found[1] != "Example" else ""
        remark = " ".join(f"{remark}{found[3]}".lstrip(", ").split())
        if remark:
            yield Text(f"  # {remark}", style="dim")
        yield Text(f"  {' '.join(found[2].split())}", style="cyan", no_wrap=True, overflow="ignore")


def _sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, Text]]]:
    """Return the entries of a page by the titles of their sections."""
    found: dict[str, list[tuple[str, Text]]] = {}
    for name, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            title = getattr(one, "rich_help_panel", None)
            title = title if isinstance(title, str) else "Commands"
            first = re.split(r"\n\s*\n", (one.help or "").strip())[0]
            found.setdefault(title, []).append((name, _styled(" ".join(first.split()))))
    for argument in _arguments(command, ctx):
        name = argument.metavar or argument.name.upper()
        found.setdefault("Arguments", []).append((name, _styled(argument.help or "")))
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if param.param_type_name != "argument" and record is not None:
            title = getattr(param, "rich_help_panel", None)
            title = title if isinstance(title, str) else "Options"
            row = (_declared(param, record[0]), _explained(param, record[1]))
            found.setdefault(title, []).append(row)
    return found


def _arguments(command: Any, ctx: Any) -> list[Any]:
    return [one for one in command.get_params(ctx) if one.param_type_name == "argument"]


def _table(rows: list[tuple[str, Text]], column: int) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=column, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    for name, text in rows:
        table.add_row(Text(name, style="cyan"), text)
    return Padding(table, (0, 0, 0, 2))


def _stack(rows: list[tuple[str, Text]]) -> RenderableType:
    return Group(
        *(
            Group(Text(f"  {name}", style="cyan"), Padding(text, (0, 0, 0, 6)))
            for name, text in rows
        )
    )


def _styled(text: str) -> Text:
    """Return text with its code, which stands between backticks, in colour."""
    parts = text.split("`")
    return Text.assemble(*((part, "cyan" if n % 2 else "") for n, part in enumerate(parts)))


def _declared(param: Any, text: str) -> str:
    """Return the names of an option and the value that it takes.

    A flag takes none, and is named as one would type it to change the default.
    """
    shown = param.secondary_opts if param.default is True else param.opts
    names = ", ".join(sorted(shown, key=len))
    return names if param.is_flag else f"{names} {_value(text.split(' ', len(param.opts))[-1])}"


def _value(kind: str) -> str:
    """Return the kind of a value as command lines name it.

    >>> [_value(kind) for kind in ("<int range>", "<list[str]>", "<path>", "<quick|paper>")]
    ['INTEGER', 'TEXT', 'PATH', '[quick|paper]']
    """
    plain = kind.strip("<>").removesuffix(" range").removesuffix(" RANGE")
    plain = re.sub(r"^list\[(.*)\]$", r"\1", plain)
    if "|" in plain:
        return f"[{plain.strip('[]')}]"
    return TYPES.get(plain, plain.upper())


def _explained(param: Any, text: str) -> Text:
    """Return the explanation, and below it the default, the range and the variable, if any."""
    plain, mark, details = text.replace("  \\[", "  [").rpartition("  [")  # older Typers escape it
    if not mark:
        return _styled(text)
    shown = [_detail(one) for one in details.removesuffix("]").split("; ")]
    if param.is_flag:
        shown = [one for one in shown if not one.startswith("default")]
    below = Text(f"\n[{'; '.join(shown)}]", style="dim") if shown else Text()
    return Text.assemble(_styled(plain), below)


def _detail(text: str) -> str:
    """Return a default or a range in plain words.

    >>> [_detail(text) for text in ("default: 1000000000.0", "0<=x<=65535", "x>=1", "required")]
    ['default: 1e9', '0 to 65535', 'at least 1', 'required']
    """
    if found := re.fullmatch(r"default: (\d+\.\d+)", text):
        return f"default: {float(found[1]):g}".replace("e+0", "e")
    if found := re.fullmatch(r"(\S+)<=x<=(\S+)", text):
        return f"{float(found[1]):g} to {float(found[2]):.10g}"
    if found := re.fullmatch(r"x>=(\S+)", text):
        return f"at least {float(found[1]):g}"
    return text
