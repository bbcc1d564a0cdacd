"""Schema: how records and their context become the rows that a learner scores."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from longrank import kernels
from longrank.arrays import Matrix
from longrank.contents import Broken, Sizes, listed, mapped, optional, show, text, tree
from longrank.errors import BadFile, InvalidInput
from longrank.packing import Tree
from longrank.parts import Part
from longrank.rows import (
    LISTS,
    MAX_FIELDS,
    Layout,
    Plan,
    Slot,
    SparseRows,
    dense_fields,
    read_dense,
)
from longrank.schema.coder import Encoded, atom_groups
from longrank.schema.kinds import KINDS, Kind, checked_name, read_kind, shown, spell, spelled
from longrank.schema.side import MAX_EMBEDDED, Side
from longrank.schema.values import ID, Record


def _dense(value: Any, sizes: Sizes) -> None:  # noqa: ARG001
    """The fields of a dense block, as they are saved."""
    try:
        read_dense(value)
    except (TypeError, ValueError) as error:
        raise Broken(f"be the fields of a dense block: {error!s:.200}", show(value)) from error


MAX_ENTRIES = 1024  # of a row; fields and crosses that would exceed it are left out
SIDES = ("candidate", "context")


class Schema(Part):
    """How records become rows: which kind each field is, and what is crossed with what.

    Text and booleans are categories, numbers are numbers, a list of numbers is an embedding, a
    list of text a set of tags; ``None``, NaN or absence is *missing*, with its own column. The
    kind of a field is inferred when it is first seen, unless it is declared. The field ``id``
    names the candidate, and is always a category.

    The context is the same for all candidates of a round, so by itself it cannot change their
    order. Each of its fields is therefore crossed with the id and with every other field of the
    candidates, up to 1,024 entries per row.

    Parameters
    ----------
    fields
        Declared kinds by name: ``Number(log=True)``, ``Text()``, or a name such as ``"category"``.
    cross
        Pairs of names to cross instead of the default: a candidate field and a context field (or
        another candidate field).
    ignore
        Names of fields that are not used.

    Examples
    --------
    >>> from longrank import Number
    >>> schema = Schema({"amount": Number(log=True), "mcc": "category"}, cross=[("id", "mcc")])
    >>> print(schema)
    Schema: no field seen yet
      amount: number (log), declared
      mcc: category, declared
      crossed: id x mcc
    """

    kind = "schema"
    contents: ClassVar = {
        "fields": mapped(spelled),
        "cross": optional(listed(listed(text, exactly=2))),
        "ignore": listed(text),
        "sides": tree({side: tree(Side.contents) for side in SIDES}),
        "dense": _dense,
    }

    def __init__(
        self,
        fields: Mapping[str, Kind | str] | None = None,
        *,
        cross: Iterable[tuple[str, str]] | None = None,
        ignore: Iterable[str] = (),
    ) -> None:
        if not isinstance(fields, Mapping | None):
            raise InvalidInput("fields", "be a dictionary of kinds by name", repr(fields))
        self.fields = {
            checked_name(name): _kind(name, kind) for name, kind in (fields or {}).items()
        }
        self.cross = None if cross is None else tuple(_pair(pair) for pair in cross)
        if isinstance(ignore, str):
            raise InvalidInput("ignore", "be a list of names", repr(ignore))
        self.ignore = frozenset(checked_name(name) for name in ignore)
        self.sides = {side: Side(side, self.fields, self.ignore) for side in SIDES}
        self.dense: tuple[Slot, ...] = ()  # until numbers were learned from
        self._plans: dict[Layout, Plan] = {}
        nothing = Layout((), ())
        self._last = nothing, self.plan(nothing)  # of the last round

    def encode(self, candidates: Sequence[Record], context: Record | None) -> SparseRows:
        """Return the rows of the candidates of a round; the schema does not change."""
        own = self.sides["candidate"].encode(candidates)
        shared = self.sides["context"].encode_one({} if context is None else context)
        layout, plan = self._last
        if own.fields is not layout.candidate or shared.fields is not layout.context:
            layout = Layout(own.fields, shared.fields, self._dense_of(own.fields))
            plan = self.plan(layout)
            self._last = layout, plan
        return SparseRows(
            layout,
            own.keys,
            own.numbers,
            shared.keys[0, 1:],
            shared.numbers[0, 1:],
            own.raw,
            shared.raw,
            plan,
            items=self._items(own, layout.dense),
        )

    def _items(self, own: Encoded, dense: tuple[Slot, ...]) -> Matrix | None:
        """Return the numbers of the candidates of which the dense block is made."""
        if not dense:
            return None
        given = own.columns()
        gap = np.full((len(own.keys), 1), np.nan)
        parts = [given.get(f.name, np.repeat(gap, f.numbers, axis=1)) for f in dense]
        items = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return np.where(np.isnan(items), kernels.MISSING, items)

    def plan(self, layout: Layout) -> Plan:
        """Return which entries the atoms of these fields form."""
        plan = self._plans.get(layout)
        if plan is None:
            if len(self._plans) >= 64:
                self._plans = {}
            plan = self._plans[layout] = self._make_plan(layout)
        return plan

    def planned(self, rows: SparseRows) -> SparseRows:
        """Return rows with the plan of this schema, whether read from a file or made by another."""
        layout, plan = self._last
        if rows.layout is not layout:
            plan = self.plan(rows.layout)
        return rows if rows.plan is plan else rows.but(plan=plan)

    def observe(self, rows: SparseRows) -> None:
        """Learn which fields there are, and the scale of their numbers, from observed rows."""
        for side, raw in (("candidate", rows.raw), ("context", rows.context_raw)):
            self.sides[side].observe(getattr(rows.layout, side), raw)
        if not self.dense and rows.layout.candidate:  # not where candidates are arrays
            self.dense = tuple(field for field in rows.layout.dense if self._has(field))

    def view(self) -> Self:
        """Return a copy that shares nothing that :meth:`observe` writes."""
        viewed = object.__new__(type(self))
        viewed.__dict__.update(self.__dict__)
        viewed.sides = {name: side.view() for name, side in self.sides.items()}
        return viewed

    def crosses(self, layout: Layout | None = None) -> list[tuple[str | None, str]]:
        """Return the pairs that are crossed, by name."""
        plan = self.plan(self.present() if layout is None else layout)
        return [(name, partner) for name, partner in plan.names if partner is not None]

    def left_out(self) -> int:
        """Return how many pairs are not crossed, since a row would have too many entries."""
        return len(self._pairs(self.present())) - len(self.crosses())

    def left_out_fields(self) -> list[tuple[str, str]]:
        """Return side and name of fields that were not used, since there were too many.

        The latest of them, since the schema was made or loaded.
        """
        return [(side, name) for side in SIDES for name in list(self.sides[side].left_out)]

    def present(self) -> Layout:
        """Return the fields that are known."""
        candidate, context = (self.sides[side].fields() for side in SIDES)
        return Layout(candidate, context, self._dense_of(candidate))

    def _has(self, field: Slot) -> bool:
        """Whether candidates have this field, as of this kind and width."""
        side = self.sides["candidate"]
        width = side.widths.get(field.name, field.width)
        return field.name in side.known and (side.known[field.name].name, width) == field[1:]

    def _dense_of(self, fields: tuple[Slot, ...]) -> tuple[Slot, ...]:
        """Return the fields of the dense block: the first numbers that were learned from."""
        return self.dense or dense_fields(fields)

    def _pairs(self, layout: Layout) -> list[tuple[str | None, str, bool]]:
        """What is crossed, the most useful first: two names, and whether both are candidates'."""
        own = [field.name for field in layout.candidate]
        shared = [field.name for field in layout.context]
        if self.cross is None:
            first: list[str | None] = [name for name in own if name == ID]
            rest = [name for name in own if name != ID]
            return [(name, partner, False) for name in [*first, *rest] for partner in shared]
        pairs: dict[tuple[str | None, str, bool], None] = {}
        for name, partner in self.cross:
            if name in own and partner in shared:
                pairs[name, partner, False] = None
            elif partner in own and name in shared:
                pairs[partner, name, False] = None
            elif (
                name in own
                and partner in own
                and name != partner
                and (partner, name, True) not in pairs
            ):
                pairs[name, partner, True] = None
        return list(pairs)

    def _make_plan(self, layout: Layout) -> Plan:
        own, shared = _blocks(layout.candidate, 1), _blocks(layout.context, 0)
        own[None] = range(1)
        own_groups = atom_groups("candidate", layout.candidate)
        shared_groups = atom_groups("context", layout.context)[1:]
        names: list[tuple[str | None, str | None]] = [(None, None)]
        spoken: list[str | None] = [None]
        entries = [(0, -1, 0)]
        for field in layout.candidate:
            if field in layout.dense:
                names.append((field.name, None))
                spoken.append(None)
                continue
            if len(entries) + field.width > MAX_ENTRIES:
                continue
            entries += [(i, -1, len(names)) for i in own[field.name]]
            names.append((field.name, None))
            spoken.append(None)
        for name, partner, both in self._pairs(layout):
            second = own[partner] if both else shared[partner]
            if len(entries) + len(own[name]) * len(second) > MAX_ENTRIES:
                continue
            entries += [(i, -2 - j if both else j, len(names)) for i in own[name] for j in second]
            names.append((name, partner))
            spoken.append(None if both else f"context {partner}" if partner in own else partner)
        if layout.dense and len(entries) == 1:  # the dense block has a constant of its own
            entries = []
        left, right, labels = np.array(entries, np.int64).reshape(-1, 3).T.copy()
        groups = np.array(
            [
                own_groups[i]
                if j == -1
                else kernels.cross_keys(
                    own_groups[i], own_groups[-2 - j] if j < -1 else shared_groups[j]
                )
                for i, j, _ in entries
            ],
            np.uint64,
        )
        self._warn(layout, names)
        lists = any(field.kind in LISTS for side in layout for field in side)
        return Plan(left, right, groups, labels, tuple(names), lists, tuple(spoken))

    def _warn(self, layout: Layout, names: list[tuple[str | None, str | None]]) -> None:
        """Warn of fields of the context that cannot change the order."""
        if self.cross is None or not layout.candidate:  # none was seen yet
            return
        useful = {partner for name, partner in names if name is not None}
        idle = [field.name for field in layout.context if field.name not in useful]
        if idle:
            warnings.warn(
                f"the schema crosses {', '.join(map(repr, idle))} of the context with no field of "
                f"the candidates: {'it' if len(idle) == 1 else 'they'} cannot change the order",
                stacklevel=2,
            )

    def describe(self) -> list[dict[str, Any]]:
        """Describe every known field: side, name, kind, and the range of its numbers."""
        return [each for side in SIDES for each in self.sides[side].describe()]

    def __str__(self) -> str:
        described = self.describe()
        seen = {each["name"] for each in described}
        lines = ["Schema:" if described else "Schema: no field seen yet"]
        lines += [f"  {each['side']} {each['name']}: {each['text']}" for each in described]
        lines += [
            f"  {name}: {shown(kind)}, declared"
            for name, kind in self.fields.items()
            if name not in seen
        ]
        if self.ignore:
            lines.append(f"  ignored: {', '.join(sorted(self.ignore))}")
        plan, own = self.plan(self.present()), self.present().candidate
        if described:
            both = zip(plan.names, plan.shared, strict=True)
            crossed = [
                f"{first} x {shared or second}" for (first, second), shared in both if second
            ]
        else:
            crossed = [f"{name} x {partner}" for name, partner in self.cross or ()]
        if crossed:
            lines.append(f"  crossed: {', '.join(crossed)}")
        unused = [field.name for field in own if (field.name, None) not in plan.names]
        if unused:
            told = ", ".join(unused)
            lines.append(f"  not used by themselves, beyond {MAX_ENTRIES:,} entries a row: {told}")
        left_out = self.left_out() if described else 0
        if left_out > 0:
            lines.append(f"  not crossed, beyond {MAX_ENTRIES:,} entries a row: {left_out} pairs")
        beyond = [f"{side} {name}" for side, name in self.left_out_fields()]
        if beyond:
            told = ", ".join(beyond[:3]) + (f" and {len(beyond) - 3} more" if beyond[3:] else "")
            lines.append(
                f"  not used, beyond {MAX_FIELDS} fields or {MAX_EMBEDDED:,} numbers of "
                f"embeddings: {told}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        parts = []
        if self.fields:
            parts.append(repr(self.fields))
        if self.cross is not None:
            parts.append(f"cross={list(self.cross)}")
        if self.ignore:
            parts.append(f"ignore={sorted(self.ignore)}")
        return f"Schema({', '.join(parts)})"

    def state(self) -> Tree:
        return {
            "fields": {name: spell(kind) for name, kind in self.fields.items()},
            "cross": None if self.cross is None else [list(pair) for pair in self.cross],
            "ignore": sorted(self.ignore),
            "sides": {name: side.state() for name, side in self.sides.items()},
            "dense": [list(field) for field in self.dense],
        }

    @classmethod
    def from_state(cls, state: Tree) -> Self:
        """Rebuild a schema from its :meth:`state`."""
        schema = cls(
            {name: read_kind(kind) for name, kind in state["fields"].items()},
            cross=None if state["cross"] is None else [tuple(pair) for pair in state["cross"]],
            ignore=state["ignore"],
        )
        for name, side in schema.sides.items():
            side.restore(state["sides"][name])
        schema.dense = read_dense(state["dense"])
        if not all(schema._has(field) for field in schema.dense):
            raise BadFile("the dense block of a schema has fields that it does not know")
        return schema


def _kind(name: str, kind: Kind | str) -> Kind:
    if isinstance(kind, str):
        made = KINDS.get(kind)
        if made is not None:
            kind = made()
    if isinstance(kind, str) or not isinstance(kind, tuple(KINDS.values())):
        rule = f"be one of {', '.join(KINDS)}, or such as Number(log=True)"
        raise InvalidInput(f"fields[{name!r}]", rule, repr(kind))
    if name == ID and kind.name != "category":
        raise InvalidInput(f"fields[{name!r}]", "be a category, since it names candidates", kind)
    return kind


def _pair(pair: Any) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise InvalidInput("cross", "hold pairs of names", repr(pair))
    return checked_name(pair[0]), checked_name(pair[1])


def _blocks(fields: tuple[Slot, ...], start: int) -> dict[str | None, range]:
    """The atoms of every field."""
    blocks: dict[str | None, range] = {}
    for field in fields:
        blocks[field.name] = range(start, start + field.width)
        start += field.width
    return blocks
