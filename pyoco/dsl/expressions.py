"""The expression language."""

from pyoco.engine.errors import ExpressionEvaluationError, ExpressionSyntaxError
from pyoco.engine.expression import Expression, ensure_expression

__all__ = ["Expression", "ExpressionEvaluationError", "ExpressionSyntaxError", "ensure_expression"]
