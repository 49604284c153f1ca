"""Expression: the small, safe language of loop counts, conditions and switches."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ExpressionEvaluationError, ExpressionSyntaxError
from .expression_compiler import compile_source
from .expression_lookup import Scope, Step, name_step

# Far above any honest expression; it ends one that compares huge data over and over.
EVALUATION_SECONDS = 5.0
_SHOWN_SOURCE = 200


@dataclass(frozen=True)
class Expression:
    """A checked expression. Construction raises ExpressionSyntaxError, evaluation ExpressionEvaluationError."""

    source: str
    _step: Step = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise TypeError(f"the source of an expression must be text, not {type(self.source).__name__}")
        object.__setattr__(self, "_step", self._compiled())

    def _compiled(self) -> Step:
        try:
            return compile_source(self.source)
        except ExpressionSyntaxError as error:
            raise ExpressionSyntaxError(f"invalid expression {_shown(self.source)}: {error}") from error.__cause__

    def evaluate(
        self,
        ctx: Mapping[str, Any] | None = None,
        env: Mapping[str, Any] | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. `$ctx.a` is looked up in `ctx`, then in `extras`; `$env.A` in `env`."""
        roots = {} if ctx is None else ctx
        if extras:
            roots = {**extras, **roots}
        scope = Scope(roots, {} if env is None else env, time.monotonic() + EVALUATION_SECONDS)
        try:
            return self._step(scope)
        except Exception as error:
            reason = str(error) or type(error).__name__
            message = f"cannot evaluate expression {_shown(self.source)}: {reason}"
            raise ExpressionEvaluationError(message) from error


@dataclass(frozen=True)
class NameExpression(Expression):
    """A single bare word in a graph: the variable of that name if there is one, else the parameter."""

    name: str = ""

    def _compiled(self) -> Step:
        return name_step(self.name)


def ensure_expression(value: str | Expression) -> Expression:
    """The expression itself, or one made from text."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        return Expression(value)
    raise TypeError(f"an expression must be text or an Expression, not {type(value).__name__}")


def _shown(source: str) -> str:
    return repr(source if len(source) <= _SHOWN_SOURCE else source[:_SHOWN_SOURCE] + "…")
