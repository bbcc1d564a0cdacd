"""Saved parts of a policy: every state carries its kind and version.

A part (learner, feature map, policy) describes itself as a tree for :mod:`longrank.packing`, with
its ``kind`` and the ``version`` of the layout. An older layout is brought up to date by the part's
own ``migrations``; a newer one is rejected by name, and so is one that does not match the part's
``contents``. Kinds from other packages are found through entry points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from longrank.contents import Contents, check, show
from longrank.errors import BadFile
from longrank.packing import Tree
from longrank.plugins import load_entry_point


class Part:
    """Something with a state that can be saved and loaded.

    Attributes
    ----------
    kind
        The name in files; the class name unless the class sets it.
    version
        The version of the state's layout. Increase it with every change of the layout, and add a
        migration.
    migrations
        ``migrations[n]`` turns a state of version n into one of version n + 1.
    settings
        What the constructor takes and a state keeps, by name, with the rule for each: see
        :mod:`longrank.contents`. The part has an attribute of each name.
    contents
        What a state of the current layout contains, by default the settings and the contents of the
        base class. It is checked before ``from_state`` sees the state. A class that defines its own
        ``state`` without declaring either has none.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    migrations: ClassVar[Mapping[int, Callable[[Tree], Tree]]] = {}
    settings: ClassVar[Contents] = {}
    contents: ClassVar[Contents] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "kind" not in cls.__dict__:
            cls.kind = cls.__name__
        if "contents" not in cls.__dict__:
            if "settings" in cls.__dict__:
                cls.contents = cls.contents | cls.settings
            elif "state" in cls.__dict__:
                cls.contents = {}

    def state(self) -> Tree:
        """Return everything needed to rebuild it, as a tree for :mod:`longrank.packing`."""
        return {name: getattr(self, name) for name in self.settings}

    def saved(self) -> Tree:
        """Return the state together with its kind and version, as it is written to files."""
        return {"kind": self.kind, "version": self.version} | self.state()

    @classmethod
    def migrate(cls, state: Tree) -> Tree:
        """Bring a state up to the current layout, and validate its contents."""
        if not isinstance(state, dict):
            raise BadFile(f"{cls.kind!r} has no state, but a {type(state).__name__}")
        version = state.get("version")
        if type(version) is not int or version < 1:
            raise BadFile(f"{cls.kind!r} has no valid version: {show(version)}")
        if version > cls.version:
            package = cls.__module__.partition(".")[0]
            raise BadFile(
                f"{cls.kind!r} was saved in version {version} of its layout, and the installed "
                f"code reads versions up to {cls.version}: upgrade {package}"
            )
        for old in range(version, cls.version):
            if old not in cls.migrations:
                raise BadFile(f"{cls.kind!r} has no migration from version {old} to {old + 1}")
            state = cls.migrations[old](state)
        check(repr(cls.kind), cls.contents, state)
        return {**state, "version": cls.version}


P = TypeVar("P", bound=Part)


class Kinds(Generic[P]):
    """The kinds of one part: built-in ones, and those of installed packages.

    Parameters
    ----------
    what
        The word for it in messages.
    part
        The base class: an entry point must be a subclass of it.
    group
        The entry point group. The name of an entry point is the ``kind`` of the class.
    own
        The kinds of this package.
    """

    def __init__(self, what: str, part: type[P], group: str, own: Sequence[type[P]]) -> None:
        self._what, self._part, self._group = what, part, group
        self._own = {kind.kind: kind for kind in own}

    def read(self, state: Any) -> tuple[type[P], Tree]:
        """Return the class that a state belongs to, and the state in its current layout."""
        kind = state.get("kind") if isinstance(state, dict) else None
        known = self._own.get(kind) if isinstance(kind, str) else None
        if known is None and isinstance(kind, str):
            outside = load_entry_point(self._group, kind)
            if isinstance(outside, type) and issubclass(outside, self._part):
                known = outside
        if known is None:
            raise BadFile(
                f"unknown {self._what} {show(kind)}: known are {sorted(self._own)}, and those that "
                f"installed packages offer as entry points of {self._group!r}"
            )
        return known, known.migrate(state)
