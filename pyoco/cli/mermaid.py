"""Writes the plan of a flow as a Mermaid flowchart."""

from __future__ import annotations

import itertools

from ..engine.plan import Block, LoopStep, Step, SwitchStep
from .drawing import loop_title, step_name, switch_cases, switch_title


def mermaid(block: Block) -> str:
    chart = _Chart()
    chart.block(block, "  ")
    return "\n".join(["flowchart TD", *chart.nodes, *chart.edges])


class _Chart:
    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.edges: list[str] = []
        self._numbers = itertools.count(1)

    def block(self, block: Block, indent: str) -> tuple[list[str], list[str]]:
        """Writes a block; gives the ids it starts with and those it ends with."""
        ways = [self._step(step, indent) for step in block.steps]
        for index, targets in enumerate(block.successors):
            for target in targets:
                self.edges += [f"  {source} --> {ways[target][0]}" for source in ways[index][1]]
        first = [entry for (entry, _), needs in zip(ways, block.needs, strict=True) if needs == 0]
        last = [leaving for step in block.ends for leaving in ways[step.index][1]]
        return first, last

    def _step(self, step: Step, indent: str) -> tuple[str, list[str]]:
        """Writes a step; gives the id that leads into it and those that lead out of it."""
        name = f"n{next(self._numbers)}"
        if isinstance(step, LoopStep):
            self.nodes.append(f"{indent}subgraph {name}[{_quoted(loop_title(step))}]")
            self.block(step.body, indent + "  ")
            self.nodes.append(f"{indent}end")
            return name, [name]
        if isinstance(step, SwitchStep):
            return name, self._switch(step, name, indent)
        self.nodes.append(f"{indent}{name}[{_quoted(step_name(step))}]")
        return name, [name]

    def _switch(self, step: SwitchStep, name: str, indent: str) -> list[str]:
        self.nodes.append(f"{indent}{name}{{{_quoted(switch_title(step))}}}")
        leaving: list[str] = []
        for label, block in switch_cases(step):
            first, last = self.block(block, indent)
            self.edges += [f"  {name} -->|{_quoted(label)}| {entry}" for entry in first]
            leaving += last
        return leaving


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "#quot;") + '"'
