"""§10 The expression language."""

from __future__ import annotations

import dataclasses
from typing import Any

from observe import Lab, Observation, case, plain, table

from pyoco.dsl.expressions import Expression, ensure_expression


@dataclasses.dataclass
class Box:
    value: int


CONTEXT: dict[str, Any] = {
    "params": {
        "n": 3,
        "s": "text",
        "xs": [1, 2],
        "none": None,
        "flag": True,
        "deep": {"a": {"b": 5}},
        "box": Box(7),
        "zero": 0,
    },
    "results": {"a": {"k": "v"}},
    "scratch": {},
    "artifacts": {},
    "loop": None,
    "loops": [],
    "alias": {"field": "f"},
}
ENV = {"HOME_OF": "corpus", "NUMBER": "5"}

VALUES = [
    "1", "1.5", "'text'", '"text"', "True", "False", "None", "-1", "+1", "not True", "(1)", "1_000",
    "1 + 2", "3 - 1", "2 * 3", "7 / 2", "7 % 4", "2 ** 3",
    "'a' + 'b'", "'ab' * 2", "1 + 2 * 3", "(1 + 2) * 3", "-2 ** 2",
    "1 == 1", "1 != 1", "1 < 2", "2 <= 2", "3 > 4", "4 >= 4", "1 < 2 < 3", "1 < 3 < 2", "1 == True", "1 == '1'",
    "True and False", "True or False", "1 and 2", "0 or 'x'", "not 0", "True and not False",
    "'a' in 'abc'", "'z' not in 'abc'", "2 in $ctx.params.xs", "9 not in $ctx.params.xs", "'n' in $ctx.params",
    "$ctx.params.n", "$ctx.params.n + 1", "$ctx.params.s == 'text'", "$ctx.params.deep.a.b", "$ctx.params.box.value",
    "$ctx.results.a.k", "$ctx.alias.field", "$ctx.alias", "$ctx.params.none", "$ctx.params.none == None",
    "not $ctx.params.flag", "$ctx.params.n > 2 and $ctx.params.flag", "$env.HOME_OF", "$env.NUMBER == '5'",
    "$ctx.loop",
    "$ctx.params.n==3", " $ctx.params.n ", "False and $ctx.params.nope", "True or $ctx.params.nope",
]  # fmt: skip


@table({text: text for text in VALUES})
def value_of(lab: Lab, source: str) -> Observation:
    return {"value": plain(Expression(source).evaluate(ctx=CONTEXT, env=ENV))}


REFUSED = [
    "", "   ", "1 +", "(1", "f()", "len('x')", "x", "params.n", "$ctx.params.s.upper()", "$ctx.params.xs[0]",
    "{'a': 1}", "{1, 2}",
    "1 if True else 2", "lambda: 1", "f'x'", "1 // 2",
    "1 is 1", "1 is not 2", "1 & 2", "1 | 2", "1 ^ 2", "1 << 2", "~1",
    "x := 1", "[n for n in 'a']", "import os", "a = 1", "1; 2", "__import__('os')",
    "b'x' + x", "'a'.upper", "$ctx", "$env", "$foo.bar",
    "$", "*1", "yield 1", "await x",
]  # fmt: skip


@table({text or "empty": text for text in REFUSED})
def refuses(lab: Lab, source: str) -> Observation:
    return lab.builds(lambda: Expression(source))


FAILING = [
    "$ctx.params.nope", "$ctx.nope", "$ctx.params.n.deeper", "$env.NOPE", "$ctx.params.box.nope", "1 / 0", "1 % 0",
    "1 + 'a'",
    "'a' < 1", "-'a'", "1 in 2", "$ctx.params.none.x", "$ctx.params.xs.0",
]  # fmt: skip


@table({text: text for text in FAILING})
def fails_to_evaluate(lab: Lab, source: str) -> Observation:
    expression = Expression(source)
    try:
        expression.evaluate(ctx=CONTEXT, env=ENV)
    except RuntimeError as error:
        return {
            "class": type(error).__name__,
            "cause": error.__cause__ is not None,
            "names_source": source in str(error),
        }
    return {"class": None}


UNLOCKED = {
    "app_env": ("$ctx.params.app_env", 1),
    "my_ctx": ("$ctx.params.my_ctx", 2),
}


@table(UNLOCKED, fixed="Q18", expect={"right": True})
def names_with_ctx_or_env(lab: Lab, row: tuple[str, Any]) -> Observation:
    value = Expression(row[0]).evaluate(ctx={"params": {"app_env": 1, "my_ctx": 2}}, env={})
    return {"right": value == row[1]}


@case(fixed="Q18", expect={"right": True})
def dollar_inside_a_text_is_text(lab: Lab) -> Observation:
    value = Expression("'$ctx.params.n' == $ctx.params.text").evaluate(
        ctx={"params": {"n": 1, "text": "$ctx.params.n"}}, env={}
    )
    return {"right": value is True}


@case()
def source_and_equality(lab: Lab) -> Observation:
    one = Expression("$ctx.x + 1")
    return {"source": one.source, "equal": one == Expression("$ctx.x + 1"), "repr": "$ctx.x + 1" in repr(one)}


@case()
def ensure_keeps_an_expression(lab: Lab) -> Observation:
    one = Expression("1")
    return {"same": ensure_expression(one) is one, "text": ensure_expression("1 + 1").evaluate(ctx={}, env={})}


@table({"int": 3, "none": None, "bool": True, "list": [1]})
def ensure_refuses(lab: Lab, value: Any) -> Observation:
    return lab.builds(lambda: ensure_expression(value))


@case()
def evaluate_without_arguments(lab: Lab) -> Observation:
    return lab.attempt(lambda: Expression("1 + 1").evaluate())


@case(fixed="Q18", expect={"outcome": "raised"})
def power_is_bounded(lab: Lab) -> Observation:
    seen = lab.builds(lambda: Expression("7 ** 999999").evaluate())
    return {"outcome": seen["outcome"]}


@case()
def source_may_not_be_a_number(lab: Lab) -> Observation:
    return {"outcome": lab.builds(lambda: Expression(3))["outcome"]}  # type: ignore[arg-type]
