"""Damage to files: bits, bytes, slices, ends, and parts of another file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator


def _flip(data: bytearray, other: bytes, rng: Rng) -> None:
    for _ in range(int(rng.integers(1, 4))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _set(data: bytearray, other: bytes, rng: Rng) -> None:
    data[int(rng.integers(len(data)))] = int(rng.choice([0, 1, 9, 10, 13, 34, 44, 45, 46, 48, 57, 92, 127, 128, 255]))


def _cut(data: bytearray, other: bytes, rng: Rng) -> None:
    del data[int(rng.integers(len(data))) :]


def _append(data: bytearray, other: bytes, rng: Rng) -> None:
    data += rng.bytes(int(rng.integers(1, 40)))


def _delete(data: bytearray, other: bytes, rng: Rng) -> None:
    start = int(rng.integers(len(data)))
    del data[start : start + int(rng.integers(1, 30))]


def _repeat(data: bytearray, other: bytes, rng: Rng) -> None:
    start = int(rng.integers(len(data)))
    data[start:start] = data[start : start + int(rng.integers(1, 30))]


def _zero(data: bytearray, other: bytes, rng: Rng) -> None:
    start = int(rng.integers(len(data)))
    end = min(len(data), start + int(rng.integers(1, 600)))
    data[start:end] = bytes(end - start)  # as a disk leaves behind after a power failure


def _swap(data: bytearray, other: bytes, rng: Rng) -> None:
    size = int(rng.integers(1, max(2, len(data) // 3)))
    a, b = sorted(int(i) for i in rng.integers(0, max(1, len(data) - size), 2))
    if a + size <= b:
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def _splice(data: bytearray, other: bytes, rng: Rng) -> None:
    start = int(rng.integers(len(data)))
    data[start:] = other[start:] or other


def _overlay(data: bytearray, other: bytes, rng: Rng) -> None:
    start = int(rng.integers(len(data)))
    part = other[start : start + int(rng.integers(1, 200))]
    data[start : start + len(part)] = part


MUTATIONS: dict[str, Callable[[bytearray, bytes, Rng], None]] = {
    "flip": _flip,
    "set": _set,
    "cut": _cut,
    "append": _append,
    "delete": _delete,
    "repeat": _repeat,
    "zero": _zero,
    "swap": _swap,
    "splice": _splice,
    "overlay": _overlay,
}


def mutate(content: bytes, other: bytes, rng: Rng) -> tuple[str, bytes]:
    """Return the name of a mutation and the damaged content."""
    name = str(rng.choice(list(MUTATIONS)))
    data = bytearray(content)
    MUTATIONS[name](data, other, rng)
    return name, bytes(data)
