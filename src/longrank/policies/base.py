"""The interface of a policy."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import ArrayLike, NDArray

from longrank import checks, notebook, packing
from longrank.contents import Broken, Contents, Sizes, array, show, tree, whole
from longrank.decision import Outcome, Ranking
from longrank.errors import InvalidInput
from longrank.features import Features
from longrank.packing import Tree
from longrank.parts import Part
from longrank.payoffs import Payoffs

Candidates = Any  # records, names or a frame of them; an array, or what becomes one
Context = Mapping[str, Any]
Seed = np.random.Generator | int
_LISTS = (list, tuple)
PAIRS = (
    "hold pairs of a Ranking and an Outcome, or be a longrank.logs.History "
    "(longrank.logs.learn_from reads files and frames)"
)


@runtime_checkable
class Log(Protocol):
    """A log of decisions, which can be read with the features of a policy."""

    def pairs(self, policy: Policy) -> Iterable[tuple[Ranking, Outcome]]:
        """Return rankings and outcomes with the features of ``policy``."""


class Policy(Part, ABC):
    """Base class of policies: two verbs, `rank` and `learn`, with a receipt between them.

    Your own policy implements :meth:`propose`, :meth:`learn`, :meth:`state` and
    :meth:`from_state`; ``longrank.testing`` checks that it meets the contract described here.

    Attributes
    ----------
    rng
        The random generator; None if the policy is deterministic.
    online
        Whether it may learn from its own decisions; False if it is for logs only.
    """

    rng: np.random.Generator | None = None
    online: ClassVar[bool] = True

    @abstractmethod
    def propose(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,
        rng: Seed | None = None,
        probe: bool = True,
    ) -> Ranking:
        """Rank without side effects: the policy does not change, bit for bit.

        Takes the parameters of :meth:`rank`, and in addition:

        Parameters
        ----------
        rng
            The generator to draw from, or a seed. By default a copy of the policy's own, so the
            result is that of the next :meth:`rank`.
        probe
            Whether to probe when a probe is due; False for a policy that will not learn.
        """

    def rank(
        self,
        items: Candidates,
        payoffs: Payoffs,
        budget: int | None = None,
        *,
        context: Context | None = None,
    ) -> Ranking:
        """Decide which items to try, in which order, and how many; possibly none.

        Equivalent to :meth:`propose` with the policy's own generator, then :meth:`record_decision`.

        Parameters
        ----------
        items
            The candidates of this round; their number may change from round to round. Records: a
            list of dictionaries or of plain names, or a pandas, polars or pyarrow frame with named
            columns. For a policy with ``dim``, numbers of shape (k, d): an array, a list of lists
            or a frame.
        payoffs
            What success and giving up are worth in this round.
        budget
            The maximum number of attempts, at most ``payoffs.budget`` (the default).
        context
            What all candidates of the round have in common, as a dictionary; for records only.
        """
        if context is None:  # which not every policy takes
            ranking = self.propose(items, payoffs, budget, rng=self.rng)
        else:
            ranking = self.propose(items, payoffs, budget, context=context, rng=self.rng)
        self.record_decision(ranking)
        return ranking

    def record_decision(self, ranking: Ranking) -> bool:  # noqa: ARG002
        """Record a decision that will be played; return whether the policy changed.

        Does nothing unless the policy counts its decisions.
        """
        return False

    @abstractmethod
    def learn(self, ranking: Ranking, outcome: Outcome) -> None:
        """Learn from the outcome of a ranking: immediately or much later, in any order.

        Only what was observed counts. If the call fails, nothing has changed.
        """

    def learn_from(self, history: Iterable[tuple[Ranking, Outcome]] | Log) -> int:
        """Learn from rankings and their outcomes in the order given; return how many.

        The state is the same, bit for bit, as after learning from them one by one. A
        ``longrank.logs.History`` is learned as by ``longrank.logs.learn_from``: the whole log is
        validated first, and its rows are computed with this policy's features.
        """
        count = 0
        for pair in history.pairs(self) if isinstance(history, Log) else _iterate(history):
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Ranking)):
                raise InvalidInput("history", PAIRS, f"a {type(pair).__name__} in it")
            self.learn(*pair)
            count += 1
        return count

    def receipt(
        self,
        items: Candidates,
        payoffs: Payoffs,
        order: ArrayLike,
        *,
        context: Context | None = None,
    ) -> Ranking:
        """Return the receipt of a sequence that another system chose, to learn from its outcome."""
        array = checks.items(without_context(items, context), None, unit=False)
        indices = checks.sequence("order", order, len(array))
        payoffs.check_prices(len(array))
        ranking = Ranking.without_belief(
            indices, array[indices], len(indices), float(payoffs.losses[0])
        )
        return ranking.at_prices(payoffs)

    def view(self) -> Self:
        """Return a copy to rank with, and to save, while this policy keeps learning.

        It shares nothing that :meth:`learn` writes. For policies with a learner this copies the
        belief but not the history; for others, everything. The copy must not learn.
        """
        return copy.deepcopy(self)

    @classmethod
    @abstractmethod
    def from_state(cls, state: Tree, features: Features) -> Self:
        """Rebuild the policy that :meth:`state` described, in the present layout."""

    def to_bytes(self) -> bytes:
        """Return the policy with everything it has learned; equal policies give equal bytes."""
        return packing.pack({"policy": self.saved()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file atomically, for :func:`longrank.load`.

        The format is versioned and does not use pickle. A policy that is saved, loaded and
        continued is identical, bit for bit, to one that never stopped.
        """
        packing.write(path, self.to_bytes())

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _repr_html_(self) -> str:
        """Show the policy in a notebook: its parts, and how much it has learned."""
        return notebook.table(type(self).__name__, [], self._shown())

    def _shown(self) -> list[tuple[str, object]]:
        return [("policy", repr(self))]

    def _generator(self, rng: Seed | None) -> np.random.Generator:
        """Return the generator to draw from: the given one, or a copy of our own."""
        if rng is not None:
            return checks.generator(rng)
        assert self.rng is not None
        return generator_from_state(generator_state(self.rng))


def without_context(items: Candidates, context: Context | None) -> Any:
    """Return candidates as arrays, for a policy that does not take records."""
    if context is not None:
        rule = "be None for candidates that are arrays of numbers (recommended() takes records)"
        raise InvalidInput("context", rule, type(context).__name__)
    if isinstance(items, _LISTS) and items and isinstance(items[0], Mapping | str):
        rule = "be an array of numbers, as this policy was made for (recommended() takes records)"
        raise InvalidInput("items", rule, f"a list of {type(items[0]).__name__}")
    return items


def _iterate(history: Any) -> Iterator[Any]:
    if isinstance(history, str | bytes | os.PathLike) or not isinstance(history, Iterable):
        raise InvalidInput("history", PAIRS, type(history).__name__)
    return iter(history)


def _odd(value: Any, sizes: Sizes) -> None:
    """An odd number of 128 bits: with an even one a generator can repeat itself forever."""
    whole(0, 2**128 - 1)(value, sizes)
    if value % 2 == 0:
        raise Broken("be odd", show(value))


_WORD = {"has_uint32": whole(0, 1), "uinteger": whole(0, 2**32 - 1)}
_PCG = {"state": tree({"state": whole(0, 2**128 - 1), "inc": _odd})} | _WORD
_GENERATORS: dict[str, Contents] = {
    "PCG64": _PCG,
    "PCG64DXSM": _PCG,
    "MT19937": {"state": tree({"key": array(np.uint32, 624), "pos": whole(0, 624)})},
    "Philox": {
        "state": tree({"counter": array(np.uint64, 4), "key": array(np.uint64, 2)}),
        "buffer": array(np.uint64, 4),
        "buffer_pos": whole(0, 4),
    }
    | _WORD,
    "SFC64": {"state": tree({"state": array(np.uint64, 4)})} | _WORD,
}


def generator_state(rng: np.random.Generator) -> Tree:
    """Return the state of a generator, as a tree for :mod:`longrank.packing`."""
    state: Tree = dict(rng.bit_generator.state)
    return state


def saved_generator(value: Any, sizes: Sizes) -> None:
    """The state of one of numpy's generators: a rule of :mod:`longrank.contents`."""
    name = value.get("bit_generator") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in _GENERATORS:
        raise Broken(f"be of a known random generator, {', '.join(_GENERATORS)}", show(name))
    tree(_GENERATORS[name])(value, sizes)


def generator_from_state(state: Tree) -> np.random.Generator:
    """Return a generator that continues from a state."""
    bits = getattr(np.random, state["bit_generator"])(_Unseeded())
    bits.state = state
    return np.random.Generator(bits)


class _Unseeded(ISeedSequence):
    """In place of a seed where the state follows at once: seeding takes five times as long."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return np.ones(n_words, dtype)
