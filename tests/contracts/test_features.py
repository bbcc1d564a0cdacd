"""Every feature map keeps the contract of feature maps."""

import math

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from every_part import FEATURES
from longrank import Coverage, Mixture, Number, Plain, Records, Schema
from longrank.packing import pack, unpack
from longrank.testing import FeaturesContract, SparseFeaturesContract
from longrank.testing.features_contract import ITEMS


class TestFeatures(FeaturesContract):
    @pytest.fixture(autouse=True, params=FEATURES)
    def _each(self, request):
        self.make_features = FEATURES[request.param]

    def holds_a_function(self, features):
        return features.state().get("topics_kind") == "function"


RECORD_MAPS = {
    "inferred": Records,
    "declared": lambda: Records(
        Schema(
            {"fee": Number(log=True), "note": "text", "amount": "number"},
            cross=[("id", "brand"), ("region", "amount"), ("id", "region")],
            ignore=["live", "words"],
        )
    ),
}


@pytest.mark.filterwarnings("ignore:the schema crosses")
class TestRecords(SparseFeaturesContract):
    @pytest.fixture(autouse=True, params=RECORD_MAPS)
    def _each(self, request):
        self.make_features = RECORD_MAPS[request.param]


# -- coverage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [None, 16])
def test_a_gain_of_remaining_times_topics_is_the_compiled_one(grid):
    items = np.random.default_rng(2).random((12, 4))
    items = items if grid is None else np.floor(items * grid) / grid
    compiled, own = Coverage(np.eye(4)), Coverage(np.eye(4), gain=lambda r, c: r * c)
    encoded, order = compiled.encode(items, 4), np.random.default_rng(3).permutation(12)
    one, other = compiled.along(encoded, order), own.along(encoded, order)
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15 if grid is None else 0.0)
    for each in (compiled, own):
        assert not each.next_rows(encoded, [3, 1])[[3, 1]].any()  # what is above comes no more


@pytest.mark.parametrize(
    ("gain", "covered"),
    [
        (None, lambda c: 1.0 - np.prod(1.0 - c, axis=0)),
        (np.minimum, lambda c: np.minimum(c.sum(axis=0), 1.0)),
        (lambda r, c: np.maximum(c - (1.0 - r), 0.0), lambda c: c.max(axis=0, initial=0.0)),
    ],
)
def test_gains_add_up_to_the_coverage_of_the_set(gain, covered):
    items = np.random.default_rng(3).random((6, 4)) * [0.1, 0.4, 1.0, 1.0]
    features = Coverage(np.eye(4), gain=gain)
    rows = features.along(features.encode(items, 4), np.arange(6))
    gains = (rows * math.sqrt(4) + 1.0) / 2.0
    for n in range(7):
        np.testing.assert_allclose(gains[:n].sum(axis=0), covered(items[:n]), atol=1e-14)


def test_a_matrix_of_topics_is_multiplied_with_the_items_and_rounding_is_cut():
    features = Coverage(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]))
    np.testing.assert_allclose(features.encode([[0.5, 0.25]], 3), [[0.5, 0.25, 0.375]])
    features = Coverage(lambda items: items)
    assert features.encode([[1.0 + 1e-9, -1e-9]], 2).tolist() == [[1.0, 0.0]]
    features, items = Plain(), ITEMS.astype(np.float32)
    rows = features.along(features.encode(items, 4), np.array([4, 2]))
    np.testing.assert_array_equal(rows, items[[4, 2]])


# -- mixtures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_mixture_gives_the_responsibilities_of_scikit_learn(kind):
    items = np.random.default_rng(4).normal(size=(60, 3))
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(items)
    found = Mixture.from_sklearn(model)
    np.testing.assert_allclose(found(items), model.predict_proba(items), rtol=1e-9, atol=1e-12)


def test_a_mixture_is_fitted_alike_from_equal_seeds_and_can_be_scaled_to_norm_one():
    items = np.random.default_rng(5).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    one, other = Mixture.fit(items, 2, 7), Mixture.fit(items.tolist(), 2, np.random.default_rng(7))
    assert pack(one.state()) == pack(other.state())
    assert one.components == 2
    assert (one(items).argmax(axis=1) == one(items[:1]).argmax()).sum() == 30
    mixture = Mixture.fit(items, 3, 0, unit=True)
    np.testing.assert_allclose(np.linalg.norm(mixture(items), axis=1), 1.0, rtol=1e-12)
    far = mixture(1e3 * items)
    assert ((far >= 0.0) & (far <= 1.0)).all()
    assert Mixture.from_state(unpack(pack(mixture.saved()))).unit
