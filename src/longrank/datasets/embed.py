"""The paper's embeddings: images by principal components, rated items by singular vectors.

Both are fitted to a random part of the items and project the rest, so that the items to be ranked
have not shaped the space. Signs are fixed (the largest entry of an axis is positive), so that
equal data and seed give equal arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.arrays import Indices, Matrix, Vector
from longrank.datasets.mnist import Images
from longrank.datasets.ratings import Ratings
from longrank.errors import InvalidInput, needs_extra
from longrank.jobs import one_thread

Arrays = dict[str, NDArray[Any]]

_ROWS = 10_000


def embed_images(images: Images, *, seed: int, sample: int, dim: int) -> Arrays:
    """Embed images by principal components of ``sample`` of them; the others are the items.

    Returns
    -------
    Arrays
        ``items`` (n, dim), ``labels`` (n,), ``embedding_items`` (sample, dim), of unit norm.
    """
    count, pixels = images.train.shape
    limit = count if len(images.test) else count - 1
    if not 2 <= sample <= limit:
        raise InvalidInput("sample", f"be from 2 to {limit}, of the training images", sample)
    if not 1 <= dim <= min(pixels, sample - 1):
        raise InvalidInput("dim", f"be from 1 to {min(pixels, sample - 1)}", dim)
    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    fit = np.sort(order[:sample])
    rest = order[sample:]
    pool = np.concatenate([images.train[rest], images.test])
    labels = np.concatenate([images.train_labels[rest], images.test_labels])
    shuffle = rng.permutation(len(pool))
    with one_thread("embed_images"):
        centre = images.train[fit].mean(axis=0)
        centred = images.train[fit] - centre
        _, vectors = np.linalg.eigh(centred.T @ centred)
        axes = _signed(vectors[:, ::-1][:, :dim])
        return {
            "items": _project(pool[shuffle], centre, axes),
            "labels": labels[shuffle].astype(np.int64),
            "embedding_items": _project(images.train[fit], centre, axes),
        }


def embed_ratings(
    data: Ratings,
    *,
    seed: int,
    sample: int,
    dim: int,
    users: int | None = None,
    items: int | None = None,
) -> Arrays:
    """Embed rated items by singular vectors of ``sample`` of them; the others are projected.

    Only the ``users`` with the most items and the ``items`` with the most ratings count (all if
    None or if there are fewer; ties go to the first in the file). The matrix R holds the ratings,
    0 where there is none, and the mean where there are several. With R = U S V' on the sampled
    items, an item with the column r has the coordinates S^-1 U' r, scaled to norm 1. It succeeds
    with probability sigma(mean rating - median of mean ratings), with the mean over all its
    ratings and the median over all items that count.

    Returns
    -------
    Arrays
        ``items`` (n, dim), ``chances`` (n,), ``embedding_items`` (sample, dim).
    """
    counts = np.bincount(data.items, minlength=data.item_count)
    means = np.bincount(data.items, data.ratings, data.item_count) / counts
    matrix = _matrix(data)
    chosen_items = _most(counts, items)
    chosen_users = _most(np.diff(matrix.indptr), users)
    if len(chosen_users) < matrix.shape[0]:
        matrix = matrix[chosen_users]
    if len(chosen_items) < matrix.shape[1]:
        matrix = matrix[:, chosen_items]
        means = means[chosen_items]
    if not 1 <= sample < matrix.shape[1]:
        raise InvalidInput("sample", f"be from 1 to {matrix.shape[1] - 1}, of the items", sample)
    rng = np.random.default_rng(seed)
    order = rng.permutation(matrix.shape[1])
    fit, rest = order[:sample], order[sample:]
    with one_thread("embed_ratings"):
        left, values = _singular(matrix[:, fit].astype(np.float64), dim, rng)
        coordinates = _unit((matrix.T @ left) / values)
    chances = 0.5 + 0.5 * np.tanh(0.5 * (means - np.median(means)))
    return {
        "items": coordinates[rest],
        "chances": chances[rest],
        "embedding_items": coordinates[fit],
    }


def _matrix(data: Ratings) -> Any:
    """Return users times items, sparse, with the mean of repeated ratings."""
    with needs_extra("embed_ratings", "experiments"):
        from scipy.sparse import coo_matrix
    place = (data.users, data.items)
    shape = (data.user_count, data.item_count)
    matrix = coo_matrix((data.ratings, place), shape).tocsr()
    if matrix.nnz < len(data):
        times = coo_matrix((np.ones(len(data), np.float32), place), shape).tocsr()
        matrix.data /= times.data
    return matrix


def _singular(matrix: Any, dim: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Return the left vectors of the ``dim`` largest singular values, and these, decreasing."""
    from scipy.sparse.linalg import svds

    limit = min(matrix.shape) - 1
    if not 1 <= dim <= limit:
        raise InvalidInput("dim", f"be from 1 to {limit}, for a matrix of {matrix.shape}", dim)
    start = rng.standard_normal(min(matrix.shape))
    left, values, _ = svds(matrix, k=dim, v0=start, solver="arpack")
    order = np.argsort(values)[::-1]
    if not values[order[-1]] > 1e-10 * values[order[0]]:
        rank = int((values > 1e-10 * values.max()).sum())
        raise InvalidInput("dim", f"be at most {rank}, the rank of the sampled ratings", dim)
    return _signed(left[:, order]), values[order]


def _most(counts: NDArray[Any], number: int | None) -> Indices:
    """Return the codes with the highest counts, in increasing order."""
    if number is None or number >= len(counts):
        return np.arange(len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:number])


def _project(images: NDArray[np.uint8], centre: Vector, axes: Matrix) -> Matrix:
    parts = [
        (images[start : start + _ROWS] - centre) @ axes for start in range(0, len(images), _ROWS)
    ]
    return _unit(np.concatenate(parts))


def _signed(axes: Matrix) -> Matrix:
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[np.newaxis], axis=0)
    return axes * np.where(largest < 0.0, -1.0, 1.0)


def _unit(rows: Matrix) -> Matrix:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0.0, norms, 1.0))
