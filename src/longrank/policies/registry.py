"""Policies by name: one table with what each needs, its settings and its grid.

Everything that offers policies by name reads it: :func:`named`, experiments, the service, the
command line and the documentation. A package adds its own policies with entry points of the group
``longrank.policies``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longrank.errors import InvalidInput, unknown
from longrank.features import Coverage
from longrank.learners import MaximumLikelihood, OnlineNewton, Ridge
from longrank.plugins import entry_points, load_entry_point
from longrank.policies.base import Policy
from longrank.policies.default import belief, cautious, recommended
from longrank.policies.epsilon_greedy import EpsilonGreedy
from longrank.policies.oracle import Oracle
from longrank.policies.plackett_luce import PlackettLuce
from longrank.policies.random import Random
from longrank.policies.thompson import Thompson
from longrank.policies.ucb import UCB

GROUP = "longrank.policies"

Grid = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Recipe:
    """How to make a policy by name.

    Attributes
    ----------
    make
        Returns the policy. Its keyword parameters are the settings; those without a default must
        be given.
    title
        The name in tables and figures.
    summary
        One line for help texts and documentation.
    grids
        The settings that experiments search, by the name of the grid (``paper``, ``quick``).
    """

    make: Callable[..., Policy]
    title: str
    summary: str = ""
    grids: Mapping[str, Grid] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The named parameters of ``make``."""
        every = self._signature.items()
        return {name: each for name, each in every if each.kind is not each.VAR_KEYWORD}

    @property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.make).parameters

    @property
    def open(self) -> bool:
        """Whether it accepts arbitrary settings (``**settings``)."""
        return any(each.kind is each.VAR_KEYWORD for each in self._signature.values())

    @property
    def needs(self) -> tuple[str, ...]:
        """The settings without a default."""
        return tuple(name for name, each in self.parameters.items() if each.default is each.empty)

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings with a default, and the default."""
        return {
            name: each.default
            for name, each in self.parameters.items()
            if each.default is not each.empty
        }


def _combined(
    policy: Callable[..., Policy], believe: Callable[..., Any], **own: Any
) -> Callable[..., Policy]:
    """Return a function that makes a policy over a belief; its settings are those of both.

    ``believe`` returns a learner, or a learner and features. ``own`` are the policy's settings with
    their defaults; ``topics`` are those of :class:`Coverage` features.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    parts = [each.replace(kind=kind) for each in inspect.signature(believe).parameters.values()]
    parts += [inspect.Parameter(name, kind, default=default) for name, default in own.items()]

    def make(**settings: Any) -> Policy:
        acting = own | {name: settings.pop(name) for name in own if name in settings}
        believed = believe(**settings)
        learner, features = believed if isinstance(believed, tuple) else (believed, None)
        if "topics" in acting:
            features = Coverage(acting.pop("topics"))
        return policy(learner, features=features, **acting)

    make.__signature__ = inspect.Signature(parts)  # type: ignore[attr-defined]
    return make


_NEEDED = inspect.Parameter.empty
_thompson = _combined(Thompson, belief, scale=1.0, patient=False, rng=_NEEDED)
_plackett_luce = _combined(PlackettLuce, belief, temperature=1.0, patient=False, rng=_NEEDED)
_ind = _combined(UCB, OnlineNewton, exploration=0.1)
_dep = _combined(UCB, OnlineNewton, topics=_NEEDED, exploration=0.1)
_eps = _combined(EpsilonGreedy, OnlineNewton, epsilon=0.1, rng=_NEEDED)
_c_ucb1 = _combined(UCB, Ridge, exploration=0.1)
_gl_cdcm = _combined(UCB, MaximumLikelihood, exploration=0.1)

_RATES = [1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 100]
_ALPHAS = [1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10]
_FEWER_ALPHAS = [1e-9, 1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10]
_RADII = [1, 3, 10]

# The ranges of the paper: learning rate 1-100, alpha 1e-9-10, epsilon 0.01-0.5, lambda 1e-7-1e3,
# d' 3-30. Its steps, and its D, are not reported.
_OWN: dict[str, Recipe] = {
    "recommended": Recipe(
        recommended,
        "recommended",
        "The default: nothing to tune.",
        {"paper": {}, "quick": {}},
    ),
    "thompson": Recipe(
        _thompson, "Thompson", "Thompson sampling on the belief of the recommended policy."
    ),
    "plackett-luce": Recipe(
        _plackett_luce,
        "Plackett-Luce",
        "Sequences drawn at random on the belief of the recommended policy, with exact "
        "propensities.",
    ),
    "cautious": Recipe(
        cautious,
        "cautious",
        "Lower confidence bounds on the belief of the recommended policy, to be learned from logs.",
    ),
    "rand": Recipe(
        Random,
        "Rand",
        "The paper's Rand: a random order at full budget.",
        {"paper": {}, "quick": {}},
    ),
    "eps": Recipe(
        _eps,
        "Eps",
        "The paper's Eps: epsilon-greedy.",
        {
            "paper": {
                "epsilon": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
                "rate": _RATES,
                "radius": _RADII,
            },
            "quick": {"epsilon": [0.02, 0.1], "rate": [1, 3, 10], "radius": [3]},
        },
    ),
    "c-ucb1": Recipe(
        _c_ucb1,
        "C-UCB1",
        "The paper's C-UCB1: optimistic ridge regression.",
        {
            "paper": {"exploration": [*_ALPHAS, 0.5, 2, 5]},
            "quick": {"exploration": [1e-3, 1e-2, 0.1, 0.3, 1, 3]},
        },
    ),
    "gl-cdcm": Recipe(
        _gl_cdcm,
        "GL-CDCM",
        "The paper's GL-CDCM: optimistic maximum likelihood, refitted every round.",
        {
            "paper": {
                "penalty": [1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.3, 1, 3, 10, 100, 1000],
                "exploration": [1e-9, 1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10],
            },
            "quick": {"penalty": [0.1, 1], "exploration": [1e-3, 0.03, 0.3]},
        },
    ),
    "ind": Recipe(
        _ind,
        "Ind",
        "The paper's Ind (Algorithm 1): independent outcomes.",
        {
            "paper": {"rate": _RATES, "exploration": _ALPHAS, "radius": _RADII},
            "quick": {
                "rate": [1, 2, 4, 10],
                "exploration": [1e-5, 1e-3, 1e-2, 0.1, 1],
                "radius": [3],
            },
        },
    ),
    "dep": Recipe(
        _dep,
        "Dep",
        "The paper's Dep (Algorithm 2): dependent outcomes, by coverage of topics.",
        {
            "paper": {
                "topics": [3, 5, 10, 15, 20, 25, 30],
                "rate": [1, 2, 3, 5, 10, 20, 50, 100],
                "exploration": _FEWER_ALPHAS,
                "radius": [3, 10],
            },
            "quick": {
                "topics": [10, 30],
                "rate": [3, 10, 30],
                "exploration": [1e-3, 0.03, 0.3],
                "radius": [3],
            },
        },
    ),
    "oracle": Recipe(Oracle, "Bayes optimal", "Ranks with the true weights."),
}


def names() -> tuple[str, ...]:
    """Return the names of all policies: built-in ones first, then those of installed packages."""
    outside = (name for name in sorted(entry_points(GROUP)) if name not in _OWN)
    return (*_OWN, *outside)


def get(name: str) -> Recipe:
    """Return the recipe of a policy by name.

    The entry point of a package may be a :class:`Recipe`, a function that returns a policy, or a
    :class:`Policy` class; the settings are then the keywords of its constructor.
    """
    if isinstance(name, str):
        if name.lower() in _OWN:
            return _OWN[name.lower()]
        for known in (name, name.lower()):
            if known in entry_points(GROUP):
                return _outside(known)
    raise InvalidInput("name", f"be one of {', '.join(names())}", unknown(name, names()))


def _outside(name: str) -> Recipe:
    offered = load_entry_point(GROUP, name)
    if isinstance(offered, Recipe):
        return offered
    if not callable(offered):
        rule = "be a policy, a function that returns one, or a Recipe"
        raise InvalidInput(f"the entry point {name!r} of {GROUP!r}", rule, repr(offered))
    first = (inspect.getdoc(offered) or "").partition("\n")[0]
    return Recipe(offered, name, first)


def named(name: str, /, **settings: Any) -> Policy:
    """Make a policy by its name.

    =============  =========================================================================
    recommended    dim=None, schema=None, max_budget=None, forgetting=0.0, rng=0
    thompson       dim=None, schema=None, max_budget=None, scale=1.0, forgetting=0.0, patient, rng
    plackett-luce  dim, schema, max_budget=None, temperature=1.0, forgetting=0.0, patient, rng
    cautious       dim=None, schema=None, max_budget=None, caution=0.5, forgetting=0.0
    ind            dim, max_budget, exploration=0.1, rate=None, radius=1.0, link
    dep            dim (the number of topics), topics, and those of ind
    eps            dim, max_budget, epsilon=0.1, rng, rate=None, radius=1.0, link
    c-ucb1         dim, exploration=0.1
    gl-cdcm        dim, penalty=1.0, exploration=0.1, link
    rand           rng
    oracle         weights, features=Plain(), link, exact=False
    =============  =========================================================================

    Installed packages can add more: see :mod:`longrank.policies.registry`.

    >>> named("ind", dim=10, max_budget=5).exploration
    0.1
    """
    return make(name, {}, settings)


def make(name: str, offered: Mapping[str, Any], settings: Mapping[str, Any]) -> Policy:
    """Make a policy for a job, passing those of the ``offered`` values it has parameters for.

    ``settings`` come from the user and must not name what is offered, even if that is None: left
    to the policy.
    """
    recipe = get(name)
    known = recipe.parameters
    for setting in settings:
        if setting in offered:
            raise InvalidInput("settings", f"not name {setting!r}, which is given", setting)
        if setting not in known and not recipe.open:
            own = [each for each in known if each not in offered]
            rule = f"be among {', '.join(own)}" if own else "be empty"
            got, takes = unknown(setting, own), ", ".join(own) or "none"
            sentence = f"unknown setting for {name!r}, which takes {takes}: {got}"
            raise InvalidInput("settings", f"{rule} for {name!r}", got, sentence)
    taken = {key: value for key, value in offered.items() if key in known and value is not None}
    for setting in recipe.needs:
        if setting not in taken and setting not in settings:
            rule = f"include {setting!r} for {name!r}"
            raise InvalidInput("settings", rule, sorted(settings))
    return recipe.make(**taken, **settings)
