"""What lets threads execute one kernel together: they share out blocks of rows by a counter, and meet between steps.

A round of calls from Python costs each thread its turn at the interpreter, in all as long as a step for 100,000 rows on
16 threads. A meeting costs 2 microseconds. ``team`` are counters that the threads share. Every thread of a team must
come to every meeting: a kernel decides by shared numbers alone whether to return.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from lowland.kernels.compile import inner_loop

BLOCK = 256  # rows that a thread takes at once; sums are added by blocks, so that the threads do not change them
_ARRIVED, _MEETINGS, _TAKEN, _FAILED = 0, 8, 16, 24  # counters, each in a cache line of its own
_NO_BLOCK = np.int64(2**40)  # beyond all blocks; no kernel multiplies it beyond 64 bits
_SPINS, _YIELDS = 2_000, 20_000  # looks at the number of meetings: soon after, other programs get the core

_give_way = types.ExternalFunction("sched_yield" if os.name == "posix" else "SwitchToThread", types.int32())
_sleep = types.ExternalFunction("usleep" if os.name == "posix" else "Sleep", types.int32(types.uint32))
_NAP = 50 if os.name == "posix" else 1  # microseconds; milliseconds


def count_team_blocks(n: int) -> int:
    """Return the number of blocks of n rows."""
    return -(-n // BLOCK)


def execute(rounds: Callable[..., list[Any]] | None, threads: int, n: int, work: Callable[..., Any]) -> Any:
    """Execute one kernel on n rows by all threads at once: ``work(team, threads, number of the thread)``.

    ``rounds`` is that of ``Run.rounds``, or None for one thread. If one fails, the others leave the kernel too.
    """
    team, threads = np.zeros(32, np.int64), min(threads, count_team_blocks(n))
    if rounds is None or threads < 2:
        return work(team, 1, 0)

    def abandon() -> None:
        team[_FAILED] = 1

    def take_part(number: int) -> Any:
        try:
            return work(team, threads, number)
        except BaseException:
            abandon()
            raise

    return rounds(range(threads), take_part, abandon)[0]


def _place(context, builder, signature, arguments):
    """The address of a counter."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    return cgutils.get_item_pointer(context, builder, kind, array, [arguments[1]])


@intrinsic
def _add(typingctx, counters, which, amount):
    """Add to a counter in one step, and return its value before."""

    def code(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _place(context, builder, signature, arguments), arguments[2], "acq_rel")

    return types.int64(counters, types.intp, types.int64), code


@intrinsic
def _look(typingctx, counters, which):
    """Return the value of a counter that other threads change."""

    def code(context, builder, signature, arguments):
        return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", 8)

    return types.int64(counters, types.intp), code


@inner_loop
def take(team):
    """Return the number of the next block, 0, 1, …, which no other thread takes before the next meeting."""
    return _NO_BLOCK if _look(team, _FAILED) else _add(team, _TAKEN, 1)


@inner_loop
def meet(team, threads):
    """Wait until all threads are here; then blocks are counted from 0 again."""
    meetings = _look(team, _MEETINGS)
    if _add(team, _ARRIVED, 1) == threads - 1:
        team[_ARRIVED] = team[_TAKEN] = 0
        _add(team, _MEETINGS, 1)
        return
    looks = 0
    while _look(team, _MEETINGS) == meetings and not _look(team, _FAILED):
        looks += 1
        if looks > _YIELDS:
            _sleep(np.uint32(_NAP))
        elif looks > _SPINS:
            _give_way()
