"""Entry points: parts, policies and tasks that other installed packages offer."""

import functools
import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Any

from longrank.errors import BadPlugin


def entry_points(group: str) -> Mapping[str, importlib.metadata.EntryPoint]:
    """Return the entry points of a group by name."""
    return _entry_points(group, tuple(sys.path))


@functools.lru_cache(maxsize=16)  # finding them means reading the metadata of every package
def _entry_points(
    group: str,
    path: tuple[str, ...],  # noqa: ARG001
) -> Mapping[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}


def load_entry_point(group: str, name: str) -> Any:
    """Return what an installed package offers under a name, None if nothing."""
    point = entry_points(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:
        package = "an installed package" if point.dist is None else point.dist.name
        raise BadPlugin(
            f"the entry point {name!r} of {group!r}, which {package} offers, cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
