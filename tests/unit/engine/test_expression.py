"""Expressions: the language, its limits, and agreement with Python."""

from __future__ import annotations

import contextlib
import itertools
import operator
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pyoco.engine import expression as expression_module
from pyoco.engine.errors import ExpressionEvaluationError, ExpressionSyntaxError
from pyoco.engine.expression import Expression, NameExpression, ensure_expression


class Thing:
    size = 3
    _hidden = "secret"


CTX: dict[str, Any] = {
    "params": {"n": 4, "name": "ada", "app_env": "prod", "the_ctx": 1, "_private": 7, "names": ["ada", "bob"], "if": 5},
    "results": {"fetch": {"rows": [1, 2]}, "thing": Thing()},
    "item": {"id": 9},
    "loop": None,
}


def value(source: str, **kwargs: Any) -> Any:
    return Expression(source).evaluate(ctx=kwargs.get("ctx", CTX), env=kwargs.get("env", {"HOME": "/root"}))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("2 ** 10 - 1", 1023),
        ("-7 % 5", 3),
        ("7 / 2", 3.5),
        ("1 < 2 < 3", True),
        ("3 > 2 > 2", False),
        ("not 0", True),
        ("+3 == - -3", True),
        ("0 or 'x'", "x"),
        ("1 and 0", 0),
        ("'a' 'b' + \"c\"", "abc"),
        ("'da' in $ctx.params.name", True),
        ("'eve' not in $ctx.params.names", True),
        ("$ctx.params.n in [1, 2 + 2]", True),
        ("[]", []),
        ("None", None),
        ("1_000 + 0x10 + 1e1", 1026.0),
        ("  1  ", 1),
        ("\n 1", 1),
        ("(1\n + 2)", 3),
        ("1 # one", 1),
        ("'%5.2f' % 3.14159", " 3.14"),
    ],
    ids=repr,
)
def test_the_operators_mean_what_they_mean_in_python(source: str, expected: Any) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("$ctx.params.n + 1", 5),
        ("$ctx.item.id", 9),
        ("$ctx.results.thing.size", 3),
        ("$env.HOME", "/root"),
        ("$ctx.loop", None),
        ("$ctx.params", CTX["params"]),
        ("$ctx.params.if", 5),
        ("$ctx.params.app_env == 'prod' and $ctx.params.the_ctx == 1", True),
        ("$ctx.params._private", 7),
        ("'é' + $ctx.params.name + 'é' + $ctx.params.name", "éadaéada"),
    ],
)
def test_references_find_items_and_attributes(source: str, expected: Any) -> None:
    assert value(source) == expected


def test_a_dollar_inside_a_text_is_only_text() -> None:
    assert value("'$ctx.params.n is ' + '$' + \"it's $env.HOME\"") == "$ctx.params.n is $it's $env.HOME"
    assert value("'''$ctx.x''' + r'\\$ctx.y'") == "$ctx.x\\$ctx.y"
    assert value("'it\\'s $ctx.x'") == "it's $ctx.x"


def test_extras_are_seen_behind_the_context() -> None:
    found = Expression("[$ctx.a, $ctx.b]").evaluate(ctx={"a": 1}, extras={"a": 2, "b": 3})
    assert found == [1, 3]


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("1 + f(2)", 5),
        ("x", 1),
        ("'é' + name", 7),
        ("1 + $ctx.a.b[0]", 5),
        ("(1, 2)", 1),
        ("{'a': 1}", 1),
        ("1 // 2", 1),
        ("1 if 2 else 3", 1),
        ("1 + ($ctx.a is None)", 6),
        ("~1", 1),
        ("1 | 2", 1),
        ("lambda: 1", 1),
        ("f'{1}'", 1),
        ("b'x'", 1),
        ("...", 1),
        ("[x for x in $ctx.a]", 1),
        ("(y := 1)", 2),
        ("$ctx.a.b.__class__()", 1),
        ("a.b", 1),
        ("______ + $ctx.a", 1),
        ("$ctx.a$ctx.b", 1),
        ("x$ctx.a", 1),
        ("[*$ctx.a]", 2),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_column(source: str, column: int) -> None:
    with pytest.raises(ExpressionSyntaxError, match=rf"not allowed at column {column}; allowed are \$ctx"):
        Expression(source)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("1 +", "at column"),
        ("1\n+ 2", "line 2, column"),
        ("a b", "at column"),
        ("$foo.x", r"\$ctx.path or \$env.NAME at column 1"),
        ("1 + $ctx", "at column 5"),
        ("$ctx.0", "at column 1"),
        ("$ctx.a.", "a dot without a name at column 1"),
        ("1 + $ctx.a..b", "a dot without a name at column 5"),
        ("1or 2", "a blank is missing in '1or' at column 1"),
        ("'abc", "at column"),
        ("1\x002", "null"),
        ("'\ud800'", "surrogates"),
        ("1" * 4001, "longer than"),
        ("(" * 60 + "1" + ")" * 60, "brackets inside each other at column 51"),
        ("(" * 4000, "brackets inside each other"),
        ("-" * 3000 + "1", "signs in a row"),
        ("not " * 900 + "1", "signs in a row"),
        ("2**" * 1300 + "1", "inside each other"),
        ("1+" * 1900 + "1", "inside each other"),
        ("1 if 1 else " * 300 + "1", "not allowed"),
    ],
    ids=lambda text: repr(text)[:30],
)
def test_unreadable_text_is_a_syntax_error(source: str, message: str) -> None:
    with pytest.raises(ExpressionSyntaxError, match=message):
        Expression(source)


def test_an_expression_of_a_hundred_additions_is_fine() -> None:
    assert value("1" + " + 1" * 98) == 99


def test_reading_hostile_text_needs_little_stack() -> None:
    hostile = ["-" * 4000, "(" * 4000, "[" * 4000, "not " * 1000, "f(" * 2000, "{" * 4000]
    refused = []

    def read() -> None:
        for source in hostile:
            try:
                Expression(source)
            except ExpressionSyntaxError:
                refused.append(source)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert refused == hostile


@pytest.mark.parametrize("source", [r"'\d+\w' == 'x'", r"'C:\dir'", r"'\477'", "1 is 1 or 2", "'a'()", "1 .real"])
def test_no_warning_of_python_leaks(source: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(ExpressionSyntaxError):
            Expression(source)
    assert caught == []


def test_a_backslash_that_escapes_nothing_stays() -> None:
    assert value(r"'C:\dir\x41\t'") == "C:\\dirA\t"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("1 / 0", ZeroDivisionError),
        ("1 + 'a'", TypeError),
        ("1 < 'a'", TypeError),
        ("1 in 2", TypeError),
        ("2.0 ** 100000", OverflowError),
        ("$ctx.params.missing", LookupError),
        ("$env.MISSING", LookupError),
        ("$ctx.loop.index", LookupError),
        ("$ctx.params.names.0", LookupError),
    ],
)
def test_a_problem_while_evaluating_keeps_its_cause(source: str, cause: type[Exception]) -> None:
    with pytest.raises(ExpressionEvaluationError) as caught:
        value(source)
    assert isinstance(caught.value.__cause__, cause)
    assert source in str(caught.value)


def test_a_missing_path_names_itself_and_the_nearest_name() -> None:
    with pytest.raises(ExpressionEvaluationError, match=r"\$ctx\.params\.nmae not found.*did you mean 'name'\?"):
        value("$ctx.params.nmae + 'x'")
    with pytest.raises(ExpressionEvaluationError, match="available: params, results, item, loop"):
        value("$ctx.zzz")
    with pytest.raises(ExpressionEvaluationError, match="it is empty"):
        Expression("$env.A").evaluate()


def endless() -> Any:
    yield from itertools.count()


@pytest.mark.parametrize(
    "path",
    [
        "thing.__class__",
        "thing._hidden",
        "thing.size.__class__",
        "function.func_globals",
        "module.path",
        "generator.gi_frame",
        "method.im_self",
        "frame.f_globals",
        "keys",
    ],
)
def test_the_interpreter_is_out_of_reach(path: str) -> None:
    results = {
        "thing": Thing(),
        "function": value,
        "module": sys,
        "generator": endless(),
        "method": "x".upper,
        "frame": sys._getframe(),
    }
    with pytest.raises(ExpressionEvaluationError, match="not found"):
        Expression(f"$ctx.results.{path}").evaluate(ctx={"results": results})


def test_read_only_mappings_are_mappings() -> None:
    assert Expression("$ctx.a.x").evaluate(ctx={"a": types.MappingProxyType({"x": 1})}) == 1


@pytest.mark.parametrize(
    "source",
    [
        "9 ** 9 ** 9",
        "2 ** 1000001",
        "(2 ** 900000) * (2 ** 900000)",
        "'a' * 10000001",
        "10000001 * 'a'",
        "[1] * 99999999999",
        "'a' * 9999999 + 'bb'",
        "'%999999999d' % 1",
        "'%.999999999f' % 1",
        "'%*d' % $ctx.pair",
        "'%l%%999999999d' % 1",
        "'%(a(b))999999999d' % $ctx.params",
        "('%(n)s' * 1000) % $ctx.params",
        "'%99999999999999999999d' % 1",
        "$ctx.fraction ** 1000000",
    ],
)
def test_a_short_text_cannot_ask_for_a_huge_result(source: str) -> None:
    from fractions import Fraction

    ctx = {"params": {"n": 1}, "pair": (999999999, 1), "fraction": Fraction(3, 7)}
    with pytest.raises(ExpressionEvaluationError):
        Expression(source).evaluate(ctx=ctx)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'ab' * -5", ""),
        ("'100%% of %s' % 'x'", "100% of x"),
        ("'%(name)s' % $ctx.params", "ada"),
        ("'%-5s|' % 'a'", "a    |"),
        ("2 ** -1", 0.5),
        ("2 ** 0.5 > 1.41", True),
    ],
)
def test_the_limits_leave_ordinary_use_alone(source: str, expected: Any) -> None:
    assert value(source) == expected


def test_searching_an_endless_iterator_is_refused() -> None:
    with pytest.raises(ExpressionEvaluationError, match="cannot search"):
        Expression("-1 in $ctx.numbers").evaluate(ctx={"numbers": endless()})


def test_an_expression_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def __add__(self, other: object) -> Slow:
            time.sleep(0.02)
            return self

    monkeypatch.setattr(expression_module, "EVALUATION_SECONDS", 0.05)
    # Right-leaning, so that each operand is evaluated after the check of the operation around it.
    source = "[" + ", ".join(["$ctx.slow + 1"] * 50) + "]"
    started = time.monotonic()
    with pytest.raises(ExpressionEvaluationError, match="too long") as caught:
        Expression(source).evaluate(ctx={"slow": Slow()})
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert time.monotonic() - started < 0.8


def test_expressions_are_values() -> None:
    assert Expression("1") == Expression("1")
    assert Expression("1") != Expression(" 1")
    assert hash(Expression("1")) == hash(Expression("1"))
    assert repr(Expression("$ctx.a")) == "Expression(source='$ctx.a')"
    with pytest.raises(AttributeError):
        Expression("1").source = "2"  # type: ignore[misc]


def test_ensure_expression_takes_text_or_an_expression() -> None:
    made = Expression("1")
    assert ensure_expression(made) is made
    assert ensure_expression("1") == made
    for wrong in (1, None, True, ["1"], b"1"):
        with pytest.raises(TypeError):
            ensure_expression(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            Expression(wrong)  # type: ignore[arg-type]


def test_a_bare_name_is_a_variable_before_it_is_a_parameter() -> None:
    name = NameExpression("$ctx.params.n", "n")
    assert name.evaluate(ctx={"params": {"n": 1}}) == 1
    assert name.evaluate(ctx={"params": {"n": 1}, "n": 2}) == 2
    assert name.evaluate(ctx={"params": {"n": 1}, "n": None}) is None
    with pytest.raises(ExpressionEvaluationError, match="no variable and no parameter is called 'n'"):
        name.evaluate(ctx={"params": {}})
    assert name.source == "$ctx.params.n"
    assert name != Expression("$ctx.params.n")


def test_a_long_source_is_cut_in_messages() -> None:
    with pytest.raises(ExpressionSyntaxError) as caught:
        Expression("x" * 5000)
    assert len(str(caught.value)) < 400


# --- agreement with Python ---------------------------------------------------------------------------------------

Tree = tuple[str, Callable[[], Any]]


class TooBig(Exception):
    """Not worth computing in a test."""


def times(left: Any, right: Any) -> Any:
    for text, number in ((left, right), (right, left)):
        if isinstance(text, (str, list)) and isinstance(number, int) and len(text) * number > 10_000:
            raise TooBig
    return left * right


BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": times,
    "/": operator.truediv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}
NUMBERS = {"a": 3, "b": -2.5, "c": 0, "d": True}


def constant(number: Any) -> Tree:
    return (repr(number), lambda: number)


def reference(name: str) -> Tree:
    return (f"$ctx.params.{name}", lambda: NUMBERS[name])


def binary(symbol: str, left: Tree, right: Tree) -> Tree:
    return (f"({left[0]} {symbol} {right[0]})", lambda: BINARY[symbol](left[1](), right[1]()))


def unary(symbol: str, operand: Tree) -> Tree:
    apply = {"-": operator.neg, "+": operator.pos, "not ": operator.not_}[symbol]
    return (f"({symbol}{operand[0]})", lambda: apply(operand[1]()))


def listed(items: list[Tree]) -> Tree:
    return (f"[{', '.join(item[0] for item in items)}]", lambda: [item[1]() for item in items])


def either(symbol: str, items: list[Tree]) -> Tree:
    def choose() -> Any:
        for _, found in items[:-1]:
            left = found()
            if bool(left) is (symbol == "or"):
                return left
        return items[-1][1]()

    return (f"({f' {symbol} '.join(item[0] for item in items)})", choose)


def chained(first: Tree, links: list[tuple[str, Tree]]) -> Tree:
    def compare() -> Any:
        left, result = first[1](), None
        for symbol, (_, found) in links:
            right = found()
            result = BINARY[symbol](left, right)
            if len(links) > 1 and not result:
                return result
            left = right
        return result

    return (f"({first[0]} {' '.join(f'{symbol} {tree[0]}' for symbol, tree in links)})", compare)


leaves = st.one_of(
    st.integers(0, 1000).map(constant),
    st.floats(0, 100, allow_nan=False).map(constant),
    st.text(st.characters(codec="utf-8"), max_size=4).map(constant),
    st.sampled_from([True, False, None]).map(constant),
    st.sampled_from(sorted(NUMBERS)).map(reference),
)
comparisons = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(binary, st.sampled_from(["+", "-", "*", "/", "%"]), inner, inner),
        st.builds(unary, st.sampled_from(["-", "+", "not "]), inner),
        st.builds(listed, st.lists(inner, max_size=3)),
        st.builds(either, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        st.builds(chained, inner, st.lists(st.tuples(comparisons, inner), min_size=1, max_size=3)),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(trees)
def test_a_random_expression_has_the_value_that_python_gives(tree: Tree) -> None:
    source, compute = tree
    assume(len(source) <= 4000)
    expression = Expression(source)
    expected, failure = outcome(compute)
    assume(not isinstance(failure, TooBig))
    found, wrapped = outcome(lambda: expression.evaluate(ctx={"params": NUMBERS}))
    if failure is None:
        assert (repr(found), wrapped) == (repr(expected), None)
    else:
        assert isinstance(wrapped, ExpressionEvaluationError)
        assert type(wrapped.__cause__) is type(failure)


def outcome(compute: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return compute(), None
    except Exception as error:
        return None, error


# fmt: off
PIECES = [
    "$ctx.", "$env.A", "$ctx.a.b", "(", ")", "[", "]", "'", '"', "'''", "\\", "**", "-", "not ", "or", "in", "and", "1",
    "0x", "1e", "%", "{", "}", "é", "x", "lambda:", "#", ",", ".", "\\N", "==", "<",
]
# fmt: on
UGLY = [" ", "\n", "\r", "\x00", "\ufdd0", "\ud800", "\x0c"]
pieces = st.sampled_from([*PIECES, *UGLY])


@example("0in0")
@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(pieces, max_size=40).map("".join)))
def test_random_text_is_an_expression_or_a_syntax_error_and_never_anything_else(source: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            expression = Expression(source)
        except ExpressionSyntaxError:
            expression = None
    assert caught == []
    if expression is not None:
        with contextlib.suppress(ExpressionEvaluationError):
            expression.evaluate(ctx={"a": {"b": 2}}, env={"A": "x"})
