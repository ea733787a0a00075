"""One thread pool pattern for all stages: results in input order, a bounded number of them in flight."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def worker_count(threads: int) -> int:
    """``threads``, or one for each core this process may use when it is 0."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """``work(item)`` for every item in worker threads; results come in the order of the items.

    At most ``threads + 2`` items are taken ahead of the consumer, so a slow consumer bounds the memory. The
    first error of an item is raised when its turn comes, and nothing after it is started.
    """
    workers = worker_count(threads)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="neardup") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
