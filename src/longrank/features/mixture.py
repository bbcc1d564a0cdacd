"""Topics as the components of a Gaussian mixture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longrank import checks
from longrank.contents import flag, numbers
from longrank.errors import InvalidInput, MissingExtra
from longrank.packing import Tree
from longrank.parts import Part

Array = NDArray[np.float64]


class Mixture(Part):
    """A fitted Gaussian mixture; calling it with items returns their responsibilities.

    Parameters
    ----------
    weights, means, factors
        Shapes (m,), (m, d), (m, d, d). ``factors[i]`` is a matrix F with F F' the precision
        (inverse covariance) of component i.
    unit
        Scale the responsibilities of an item to Euclidean norm 1, as the paper does on MNIST.
        (They stay in [0, 1].)
    """

    kind = "mixture"
    contents: ClassVar = {
        "weights": numbers("m", minimum=0.0),
        "means": numbers("m", "d"),
        "factors": numbers("m", "d", "d"),
        "unit": flag,
    }

    def __init__(
        self, weights: ArrayLike, means: ArrayLike, factors: ArrayLike, *, unit: bool = False
    ) -> None:
        self.weights = checks.vector("weights", weights)
        self.means = np.array(checks.floats("means", means, 2), np.float64)
        self.factors = np.array(checks.floats("factors", factors, 3), np.float64)
        self.unit = bool(unit)
        m, d = self.means.shape
        if self.weights.shape != (m,) or (self.weights <= 0.0).any():
            raise InvalidInput("weights", f"be {m} numbers above 0", self.weights.shape)
        if self.factors.shape != (m, d, d):
            raise InvalidInput("factors", f"have shape {(m, d, d)}", self.factors.shape)
        # The constant of each component's log density; log |F| is half the log precision.
        self._constants = np.log(self.weights) + np.linalg.slogdet(self.factors)[1]
        if not np.isfinite(self._constants).all():
            raise InvalidInput("factors", "be finite, and none of them singular", "one that is not")

    @classmethod
    def fit(
        cls,
        items: ArrayLike,
        components: int,
        rng: np.random.Generator | int,
        *,
        unit: bool = False,
    ) -> Mixture:
        """Fit by expectation maximisation (scikit-learn) to items of shape (n, d)."""
        try:
            from sklearn.mixture import GaussianMixture
        except ImportError as error:
            raise MissingExtra("Mixture.fit", "experiments") from error
        array = checks.floats("items", items, 2)
        count = checks.whole("components", components, minimum=1)
        if len(array) < count:
            raise InvalidInput("items", f"have at least {count} rows", len(array))
        seed = int(checks.generator(rng).integers(2**31))
        model = GaussianMixture(count, random_state=seed, reg_covar=1e-6, max_iter=200)
        return cls.from_sklearn(model.fit(np.asarray(array, np.float64)), unit=unit)

    @classmethod
    def from_sklearn(cls, model: Any, *, unit: bool = False) -> Mixture:
        """Convert a fitted ``sklearn.mixture.GaussianMixture`` of any covariance type."""
        m, d = model.means_.shape
        factors = model.precisions_cholesky_
        if model.covariance_type == "tied":
            factors = np.broadcast_to(factors, (m, d, d))
        elif model.covariance_type == "diag":
            factors = factors[:, :, np.newaxis] * np.eye(d)
        elif model.covariance_type == "spherical":
            factors = factors[:, np.newaxis, np.newaxis] * np.eye(d)
        return cls(model.weights_, model.means_, factors, unit=unit)

    @property
    def components(self) -> int:
        """The number of topics, d'."""
        return len(self.weights)

    def __call__(self, items: Array) -> Array:
        if items.shape[1] != self.means.shape[1]:
            raise InvalidInput("items", f"have {self.means.shape[1]} columns", items.shape[1])
        offsets = np.einsum("mi,mij->mj", self.means, self.factors)
        scaled = np.einsum("ki,mij->kmj", items, self.factors, optimize=True) - offsets
        logs = self._constants - 0.5 * np.square(scaled).sum(axis=2)
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs)
        shares /= shares.sum(axis=1, keepdims=True)
        if self.unit:
            shares /= np.linalg.norm(shares, axis=1, keepdims=True)
        return np.asarray(np.minimum(shares, 1.0))

    def state(self) -> Tree:
        """As a tree for :mod:`longrank.packing`."""
        return {
            "weights": self.weights,
            "means": self.means,
            "factors": self.factors,
            "unit": self.unit,
        }

    @classmethod
    def from_state(cls, state: Tree) -> Mixture:
        """Rebuild it from a state of any version."""
        state = cls.migrate(state)
        return cls(state["weights"], state["means"], state["factors"], unit=state["unit"])

    def __repr__(self) -> str:
        return f"Mixture of {self.components} components in {self.means.shape[1]} dimensions"
