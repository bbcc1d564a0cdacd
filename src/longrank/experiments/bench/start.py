"""7. Start: import and the first ranking of a new process, compiled before and not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from longrank.experiments.bench.measure import Row, Times

CODE = """
import time
start, used = time.perf_counter(), time.process_time()
import numpy as np
import longrank
policy = longrank.recommended(dim=10)
ranking = policy.rank(np.full((100, 10), 0.1), longrank.Payoffs.exponential(10))
print(time.process_time() - used, time.perf_counter() - start)
policy.learn(ranking, longrank.Outcome(1, True))
"""
CACHED = 5


def _start(folder: str) -> tuple[float, float, str]:
    """Seconds of the processor, seconds by the clock, and what it said."""
    told = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"NUMBA_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    used, passed = map(float, told.stdout.split())
    return used, passed, told.stderr.strip()


def figures() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        first, passed, said = _start(folder)
        cached = [_start(folder) for _ in range(CACHED)]
    quiet = not any(words for _, _, words in cached)
    used = Times(tuple(one[0] for one in cached))
    clock = Times(tuple(one[1] for one in cached))
    told = f"processor {used}, clock {clock}; it says {'nothing' if quiet else 'SOMETHING'}"
    words = f"processor {first:.3g} s, clock {passed:.3g} s; it says: {said or 'NOTHING'}"
    return [
        Row("import and first rank, kernels cached", used.median, 2.0, told, "s"),
        Row("import and first rank ever, nothing cached", first, 15.0, words, "s"),
    ]
