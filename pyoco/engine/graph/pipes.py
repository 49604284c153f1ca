"""Replacing `pipe(name)` by the steps of that pipe."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import GraphReferenceError, GraphSyntaxError
from .cursor import MAX_NESTING, too_deep
from .parser import parse_source
from .source import Source, located, suggestion
from .terms import BlockTerm, Pipeline, PipeRefTerm, Term, terms_of

MAX_PIPE_DEPTH = 128
MAX_TERMS = 4096


def resolve_pipe_refs(
    pipeline: Pipeline,
    pipes: Mapping[str, str] | None = None,
    *,
    max_depth: int = MAX_PIPE_DEPTH,
    max_terms: int = MAX_TERMS,
) -> Pipeline:
    """The same pipeline with every pipe written out; only pipes that are used are parsed."""
    parsed = _parse_used(pipeline, pipes or {})
    return _Expansion(parsed, max_depth, max_terms).pipeline(pipeline, 0, ())


def _parse_used(pipeline: Pipeline, pipes: Mapping[str, str]) -> dict[str, Pipeline]:
    parsed: dict[str, Pipeline] = {}
    waiting = [pipeline]
    while waiting:
        for term in terms_of(waiting.pop()):
            if isinstance(term, PipeRefTerm) and term.name not in parsed:
                parsed[term.name] = _parse(term, pipes)
                waiting.append(parsed[term.name])
    return parsed


def _parse(reference: PipeRefTerm, pipes: Mapping[str, str]) -> Pipeline:
    name = reference.name
    if name not in pipes:
        raise located(GraphReferenceError, f"no pipe is called {name!r}", reference.mark, suggestion(name, pipes))
    text = pipes[name]
    if not isinstance(text, str):
        raise GraphSyntaxError(f"pipe {name!r} must be text, not {type(text).__name__}")
    pipeline = parse_source(Source(text, f"pipe {name!r}"))
    if isinstance(pipeline.terms[0], BlockTerm):
        message = f"pipe {name!r} has several statements"
        raise located(GraphSyntaxError, message, pipeline.mark, "a pipe is one sequence, joined with '>>'")
    return pipeline


class _Expansion:
    def __init__(self, parsed: Mapping[str, Pipeline], max_depth: int, max_terms: int) -> None:
        self._parsed = parsed
        self._max_depth = max_depth
        self._max_terms = max_terms
        self._terms = 0

    def pipeline(self, pipeline: Pipeline, nesting: int, open_pipes: tuple[str, ...]) -> Pipeline:
        terms: list[Term] = []
        for term in pipeline.terms:
            if isinstance(term, PipeRefTerm):
                self._check_reference(term, open_pipes)
                inner = self.pipeline(self._parsed[term.name], nesting, (*open_pipes, term.name))
                terms.extend(inner.terms)
            else:
                terms.append(self._term(term, nesting, open_pipes))
        return Pipeline(tuple(terms), mark=pipeline.mark)

    def _term(self, term: Term, nesting: int, open_pipes: tuple[str, ...]) -> Term:
        self._terms += 1
        if self._terms > self._max_terms:
            raise located(GraphReferenceError, f"the graph has more than {self._max_terms} terms", term.mark)
        parts = term.parts()
        if not parts:
            return term
        if nesting >= MAX_NESTING:
            raise too_deep(term.mark)
        return term.with_parts(tuple([self.pipeline(part, nesting + 1, open_pipes) for part in parts]))

    def _check_reference(self, term: PipeRefTerm, open_pipes: tuple[str, ...]) -> None:
        if term.name in open_pipes:
            circle = " >> ".join((*open_pipes[open_pipes.index(term.name) :], term.name))
            raise located(GraphReferenceError, f"pipes go round in circles: {circle}", term.mark)
        if len(open_pipes) >= self._max_depth:
            raise located(GraphReferenceError, f"pipes are nested more than {self._max_depth} deep", term.mark)
