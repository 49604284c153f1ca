"""The parsed tree of a graph. Two trees are equal if they say the same, wherever it stands in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from .source import NOWHERE, Mark

ValueKind = Literal["name", "path", "number", "text", "template"]
Join = Literal["ALL", "ANY"]


@dataclass(frozen=True, kw_only=True)
class _Marked:
    mark: Mark = field(default=NOWHERE, compare=False, repr=False)

    @property
    def line(self) -> int:
        return self.mark.line

    @property
    def column(self) -> int:
        return self.mark.column


@dataclass(frozen=True)
class Value(_Marked):
    """An argument or a case key as it was written; text without its quotes, a template without its braces."""

    text: str
    kind: ValueKind


@dataclass(frozen=True)
class Term(_Marked):
    """One step of a pipeline."""

    def parts(self) -> tuple[Pipeline, ...]:
        """The pipelines inside this term."""
        return ()

    def with_parts(self, parts: tuple[Pipeline, ...]) -> Self:
        """The same term around other pipelines."""
        return self


@dataclass(frozen=True)
class Pipeline(_Marked):
    """Steps one after the other."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class TaskTerm(Term):
    """`name`, or `node_name: name`."""

    name: str
    node_name: str | None = None


@dataclass(frozen=True)
class PipeRefTerm(Term):
    """`pipe(name)`."""

    name: str


@dataclass(frozen=True)
class GroupTerm(Term):
    """`(a & b)`, `(a | b)`, `[a, b]`; with a single branch, plain parentheses."""

    branches: tuple[Pipeline, ...]
    join: Join = "ALL"

    def parts(self) -> tuple[Pipeline, ...]:
        return self.branches

    def with_parts(self, parts: tuple[Pipeline, ...]) -> Self:
        return replace(self, branches=parts)


@dataclass(frozen=True)
class BlockTerm(Term):
    """Several statements; always the only term of its pipeline."""

    statements: tuple[Pipeline, ...]

    def parts(self) -> tuple[Pipeline, ...]:
        return self.statements

    def with_parts(self, parts: tuple[Pipeline, ...]) -> Self:
        return replace(self, statements=parts)


@dataclass(frozen=True)
class LoopTerm(Term):
    """Any loop. `old` tells the operator form (`a[3]`) from the brace form (`repeat(count=3){a}`)."""

    body: Pipeline
    collect: Value | None = field(default=None, kw_only=True)
    old: bool = field(default=False, kw_only=True)

    def parts(self) -> tuple[Pipeline, ...]:
        return (self.body,)

    def with_parts(self, parts: tuple[Pipeline, ...]) -> Self:
        return replace(self, body=parts[0])


@dataclass(frozen=True)
class RepeatTerm(LoopTerm):
    count: Value


@dataclass(frozen=True)
class ForEachTerm(LoopTerm):
    over: Value
    item: Value | None = None
    index: Value | None = None
    parallel: Value | None = None


@dataclass(frozen=True)
class UntilTerm(LoopTerm):
    cond: Value
    max_iter: Value | None = None


@dataclass(frozen=True)
class SwitchCase(_Marked):
    """One branch of a switch; without a key it is the default."""

    key: Value | None
    branch: Pipeline


@dataclass(frozen=True)
class SwitchTerm(Term):
    on: Value
    cases: tuple[SwitchCase, ...]
    old: bool = False

    def parts(self) -> tuple[Pipeline, ...]:
        return tuple(case.branch for case in self.cases)

    def with_parts(self, parts: tuple[Pipeline, ...]) -> Self:
        cases = zip(self.cases, parts, strict=True)
        return replace(self, cases=tuple(replace(case, branch=branch) for case, branch in cases))


def walk(pipeline: Pipeline) -> Iterator[tuple[Term, int]]:
    """Every term in written order with its nesting depth (0 at the top), without recursion."""
    stack = [(term, 0) for term in reversed(pipeline.terms)]
    while stack:
        term, depth = stack.pop()
        yield term, depth
        inner = [(child, depth + 1) for part in term.parts() for child in part.terms]
        stack.extend(reversed(inner))


def terms_of(pipeline: Pipeline) -> Iterator[Term]:
    return (term for term, _ in walk(pipeline))
