"""Finds out what of a plan runs one after the other and what side by side, so that it can be drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..engine.plan import Block, Step


@dataclass(frozen=True)
class Series:
    """One after the other."""

    parts: list[Part]


@dataclass(frozen=True)
class Together:
    """Side by side; nothing in one part waits for another part."""

    parts: list[Part]


@dataclass(frozen=True)
class Tangle:
    """Steps whose order is neither of both: each with the steps it waits for."""

    steps: list[tuple[Step, list[Step]]]


Part = Step | Series | Together | Tangle


def structure(block: Block) -> Part:
    """The steps of a block as a tree. Sets of steps are numbers here: bit i stands for step i."""
    return _Orders(block).part((1 << len(block.steps)) - 1)


class _Orders:
    def __init__(self, block: Block) -> None:
        self._block = block
        count = len(block.steps)
        self._direct = [0] * count
        for source, targets in enumerate(block.successors):
            for target in targets:
                self._direct[target] |= 1 << source
        self._before = [0] * count
        self._after = [0] * count
        order = _topological(block)
        for index in order:
            for source in _bits(self._direct[index]):
                self._before[index] |= self._before[source] | 1 << source
        for index in reversed(order):
            for target in block.successors[index]:
                self._after[index] |= self._after[target] | 1 << target
        self._position = {index: position for position, index in enumerate(order)}

    def part(self, chosen: int) -> Part:
        if chosen.bit_count() == 1:
            return self._block.steps[chosen.bit_length() - 1]
        ordered = self._split(chosen, lambda index: self._before[index] | self._after[index])
        if len(ordered) != 1:
            return Together([self.part(group) for group in ordered])
        unordered = self._split(chosen, lambda index: ~(self._before[index] | self._after[index]))
        if len(unordered) > 1:
            return Series([self.part(group) for group in unordered])
        steps = self._block.steps
        inside = sorted(_bits(chosen), key=self._position.__getitem__)
        return Tangle([(steps[i], [steps[j] for j in _bits(self._direct[i] & chosen)]) for i in inside])

    def _split(self, chosen: int, related: Callable[[int], int]) -> list[int]:
        """The groups of steps that hang together by a relation, in the order in which they can start."""
        groups: list[int] = []
        rest = chosen
        while rest:
            group = front = rest & -rest
            while front:
                reached = 0
                for index in _bits(front):
                    reached |= related(index)
                front = reached & chosen & ~group
                group |= front
            groups.append(group)
            rest &= ~group
        return sorted(groups, key=lambda group: min(self._position[index] for index in _bits(group)))


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def _topological(block: Block) -> list[int]:
    waiting = list(block.needs)
    order = [index for index, count in enumerate(waiting) if count == 0]
    for index in order:  # grows while it is walked
        for target in block.successors[index]:
            waiting[target] -= 1
            if waiting[target] == 0:
                order.append(target)
    return order
