"""The graph language of flow.yaml."""

from pyoco.engine.errors import GraphReferenceError, GraphSyntaxError, GraphValidationError
from pyoco.engine.graph import build_flow_from_graph, parse_graph, resolve_pipe_refs, validate_graph_terms

__all__ = [
    "GraphReferenceError",
    "GraphSyntaxError",
    "GraphValidationError",
    "build_flow_from_graph",
    "parse_graph",
    "resolve_pipe_refs",
    "validate_graph_terms",
]
