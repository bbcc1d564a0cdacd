"""Jobs: local processes by joblib, or a Dask or Ray cluster; and one thread of linear algebra."""

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from longrank.errors import InvalidInput, needs_extra

T = TypeVar("T")
BACKENDS = ("processes", "dask", "ray")


@dataclass(frozen=True)
class Jobs:
    """Where work is done: ``jobs`` at a time, in this process if that is one.

    Parameters
    ----------
    jobs
        The number of processes.
    backend, address
        ``processes``, ``dask`` or ``ray``; the address of the cluster, by default one that is
        started here.
    """

    jobs: int = 1
    backend: str = "processes"
    address: str | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InvalidInput("backend", f"be one of {', '.join(BACKENDS)}", repr(self.backend))
        if self.jobs < 1:
            raise InvalidInput("jobs", "be at least 1", self.jobs)

    def each(
        self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], *, ordered: bool = True
    ) -> Iterator[T]:
        """Call a function with each of the tasks, made as they are needed; return the results.

        In the order of the tasks; or, unless ``ordered``, as they arrive, where the backend can.
        """
        if self.jobs == 1 and self.backend == "processes":
            yield from (function(*task) for task in tasks)
            return
        with needs_extra("running in several processes", "experiments"):
            import joblib
        calls = (joblib.delayed(function)(*task) for task in tasks)
        with self._connected():
            if self.backend == "processes":
                how = "generator" if ordered else "generator_unordered"
                parallel = joblib.Parallel(self.jobs, return_as=how, batch_size=1)
                yield from parallel(calls)
                return
            # Not every backend can return results as they arrive, so we wait for so many at once
            # that all workers are busy.
            parallel = joblib.Parallel(self.jobs, batch_size=1)
            while some := list(islice(calls, 4 * self.jobs)):
                yield from parallel(some)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Set up joblib for the backend, connected while the block runs."""
        import joblib

        name, options = self.backend, dict[str, Any]()
        with ExitStack() as stack:
            with needs_extra(f"the {self.backend} backend", "cluster"):
                if self.backend == "dask":
                    from distributed import Client

                    options["client"] = stack.enter_context(Client(self.address))
                elif self.backend == "ray":
                    import ray
                    from ray.util.joblib import register_ray

                    register_ray()
                    ray.init(address=self.address, log_to_driver=False)
                    stack.callback(ray.shutdown)
                else:
                    name, options["inner_max_num_threads"] = "loky", 1
            with joblib.parallel_config(name, **options):
                yield


@contextmanager
def one_thread(what: str) -> Iterator[None]:
    """Run the block with one thread of linear algebra; ``what`` is named in errors.

    More threads would change the last bits of matrix products.
    """
    with needs_extra(what, "experiments"):
        # scipy has its own linear algebra, and only loaded libraries can be limited.
        importlib.import_module("scipy.linalg")
        control = importlib.import_module("threadpoolctl")
    with control.threadpool_limits(1):
        yield
