"""The graph language: text to flow."""

from ..errors import GraphReferenceError, GraphSyntaxError, GraphValidationError
from .build import build_flow_from_graph
from .check import GraphValidationReport, validate_graph_terms
from .parser import parse_graph
from .pipes import resolve_pipe_refs

__all__ = [
    "GraphReferenceError",
    "GraphSyntaxError",
    "GraphValidationError",
    "GraphValidationReport",
    "build_flow_from_graph",
    "parse_graph",
    "resolve_pipe_refs",
    "validate_graph_terms",
]
