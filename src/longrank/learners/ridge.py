"""Linear least squares: the belief behind C-UCB1."""

import numpy as np
from numpy.typing import NDArray

from longrank import kernels
from longrank.learners.base import Learner
from longrank.links import LINEAR


class Ridge(Learner):
    """Ridge regression of success on the rows, M = I + sum x x', theta = M^-1 sum y x.

    CascadeLinUCB (Zong et al. 2016), which the paper calls C-UCB1. The probability is the score
    itself, clipped to [0, 1]. Recursive least squares is the Newton step with a linear curve, so it
    shares the kernel with :class:`~longrank.OnlineNewton`; O(dim^2) per observed item.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim, 1.0, LINEAR)

    def observe(self, rows: NDArray[np.float64], succeeded: bool) -> None:
        kernels.observe_cascade(
            self.weights, self.inverse, rows, succeeded, self.radius, self.rate, self.link.code
        )
        self.updates += len(rows)
