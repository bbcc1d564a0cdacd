"""Names of the usual arrays, for annotations."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # of any number of dimensions
Vector = NDArray[np.float64]  # of one dimension
Matrix = NDArray[np.float64]  # of two
Indices = NDArray[np.int64]
Order = NDArray[np.int64]  # of candidates, each at most once
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]
