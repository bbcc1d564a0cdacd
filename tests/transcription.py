"""The paper's Algorithms 1 and 2, word for word: slow, and sharing no code with longrank.

The names are the paper's symbols. Where the paper is open: w_{c_t} ranks, unobserved items are
skipped, equal scores go to the lower index and equal lengths to the longer one.
"""

from decimal import Decimal, localcontext

import numpy as np
from numpy.linalg import inv
from scipy.special import expit

DIGITS = 2000  # products of 100 failures of probability 1e-16 do not vanish


def E(p, r, ell):  # noqa: N802
    """The expected reward of every length s = 0, ..., len(p), as decimal numbers."""
    with localcontext() as context:
        context.prec = DIGITS
        earned, failed, values = Decimal(0), Decimal(1), [Decimal(float(ell[0]))]
        for p_i, r_i, ell_i in zip(p, r, ell[1:], strict=False):
            earned += Decimal(float(r_i)) * Decimal(float(p_i)) * failed
            failed *= 1 - Decimal(float(p_i))
            values.append(earned + Decimal(float(ell_i)) * failed)
        return values


def longest_argmax(values):
    """The search over all lengths."""
    best = max(values)
    return max(s for s, value in enumerate(values) if value == best)


def project(w, M, x, D):
    """The w' with |w'.x| <= D that is nearest to w in the norm of M."""
    Delta = w @ x
    if abs(Delta) <= D:
        return w
    return w - (Delta - np.sign(Delta) * D) / (x @ inv(M) @ x) * (inv(M) @ x)


class Ind:
    """Algorithm 1. ``rate`` stands for 1 / c_sigma'."""

    def __init__(self, d, b, D, alpha, rate, sigma=expit):
        self.D, self.alpha, self.rate, self.sigma = D, alpha, rate, sigma
        self.M = b * np.eye(d)
        self.w = np.zeros(d)
        self.projections = 0

    def upper(self, X):
        """Delta hat + epsilon of every row."""
        return X @ self.w + np.sqrt(self.alpha * np.einsum("ki,ij,kj->k", X, inv(self.M), X))

    def order(self, A_t, count):
        """The items with the largest upper bounds, how each looks, and its upper bound."""
        u = self.upper(A_t)
        j = np.argsort(-u, kind="stable")[:count]
        return j, A_t[j], u[j]

    def rank(self, A_t, r, ell):
        """J_t as indices, and the rows to learn from."""
        j, X, u = self.order(A_t, min(len(r), len(A_t)))
        s_hat = longest_argmax(E(self.sigma(u), r, ell))
        return j[:s_hat], X[:s_hat]

    def learn(self, X, signs):
        """Step 5: s_j is +1 for a success, -1 for a failure, 0 if not observed."""
        for x, s in zip(X, signs, strict=True):
            if s == 0:
                continue
            w_prime = project(self.w, self.M, x, self.D)
            self.projections += w_prime is not self.w
            self.M = self.M + np.outer(x, x)
            nabla = self.sigma(-s * (x @ w_prime)) * s * x
            self.w = w_prime + self.rate * inv(self.M) @ nabla


class Dep(Ind):
    """Algorithm 2. Items are given as coverage vectors c(x)."""

    def order(self, A_t, count):
        j, X, u = [], [], []
        covered = np.zeros(A_t.shape[1])
        for _ in range(count):
            c_prime = 1 - (1 - covered) * (1 - A_t) - covered  # c(S + x) - c(S)
            c_bar = (2 * c_prime - 1) / np.sqrt(A_t.shape[1])
            upper = self.upper(c_bar)
            upper[j] = -np.inf
            best = int(np.argmax(upper))
            j.append(best)
            X.append(c_bar[best])
            u.append(upper[best])
            covered = 1 - (1 - covered) * (1 - A_t[best])
        return np.array(j, int), np.array(X).reshape(count, -1), np.array(u)
