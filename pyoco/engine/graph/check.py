"""What is wrong with a graph that the grammar allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..dsl import check_alias
from ..errors import GraphValidationError
from ..nodes import COLLECT_MODES, CaseValue
from ..report import ValidationReport
from .arguments import case_value, whole_number
from .source import Mark, located
from .terms import ForEachTerm, LoopTerm, Pipeline, SwitchTerm, Term, UntilTerm, Value, terms_of


class GraphValidationReport(ValidationReport):
    """What was found in a graph."""


@dataclass(frozen=True)
class Finding:
    """`fatal` ones keep the graph from being built; the others are worth a word."""

    message: str
    mark: Mark
    warning: bool = False
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.mark}: {self.message}"


def validate_graph_terms(pipeline: Pipeline) -> GraphValidationReport:
    """Every finding about a parsed graph. Tasks and pipes are not looked up."""
    report = GraphValidationReport()
    for finding in findings(pipeline):
        (report.warnings if finding.warning else report.errors).append(str(finding))
    return report


def refuse_invalid(pipeline: Pipeline) -> None:
    for finding in findings(pipeline):
        if finding.fatal:
            raise located(GraphValidationError, finding.message, finding.mark)


def findings(pipeline: Pipeline) -> Iterator[Finding]:
    for term in terms_of(pipeline):
        yield from _term_findings(term)


def _term_findings(term: Term) -> Iterator[Finding]:
    if isinstance(term, LoopTerm) and term.collect is not None and term.collect.text not in COLLECT_MODES:
        modes = ", ".join(COLLECT_MODES)
        yield Finding(f"collect must be one of {modes}, not {term.collect.text!r}", term.collect.mark)
    match term:
        case UntilTerm():
            yield from _positive("max_iter", term.max_iter)
        case ForEachTerm():
            yield from _positive("parallel", term.parallel)
            yield from _names(term)
        case SwitchTerm():
            yield from _cases(term)


def _positive(name: str, value: Value | None) -> Iterator[Finding]:
    if value is not None and not whole_number(value):
        yield Finding(f"{name} must be a whole number of 1 or more, not {value.text!r}", value.mark)


def _names(term: ForEachTerm) -> Iterator[Finding]:
    for value in (term.item, term.index):
        if value is not None:
            try:
                check_alias(value.text)
            except ValueError as error:
                yield Finding(str(error), value.mark)
    if term.item is not None and term.index is not None and term.item.text == term.index.text:
        yield Finding(f"item and index have the same name {term.index.text!r}", term.index.mark)


def _cases(term: SwitchTerm) -> Iterator[Finding]:
    if not term.cases:
        yield Finding("the switch has no cases", term.mark)
    seen: set[CaseValue] = set()
    has_default = False
    for case in term.cases:
        if case.key is None:
            if has_default:
                yield Finding("the switch has two default cases", case.mark)
            has_default = True
        elif case.key.kind == "template":
            yield Finding("a case key cannot be a template; it is compared as it stands", case.mark)
        elif (value := case_value(case.key)) in seen:
            yield Finding(f"duplicate case {value!r}; the first one is taken", case.mark, fatal=False)
        else:
            seen.add(value)
    if not has_default:
        yield Finding("the switch has no default case", term.mark, warning=True, fatal=False)
