"""The grammar of graphs, by recursive descent: the brace forms and the older operator forms together."""

from __future__ import annotations

from collections.abc import Callable

from ..dsl import parse_foreach_selector
from ..errors import GraphSyntaxError, GraphValidationError
from .cursor import MAX_NESTING, Cursor, is_value, too_deep, value_of
from .lexer import END, Token
from .source import Mark, Source, located, suggestion
from .terms import (
    BlockTerm,
    ForEachTerm,
    GroupTerm,
    Join,
    Pipeline,
    PipeRefTerm,
    RepeatTerm,
    SwitchCase,
    SwitchTerm,
    TaskTerm,
    Term,
    UntilTerm,
    Value,
    walk,
)

_BOOLEANS = {"True": "true", "False": "false"}


def parse_graph(graph: str) -> Pipeline:
    """The tree of a graph text; GraphSyntaxError shows what is wrong and where."""
    if not isinstance(graph, str):
        raise GraphSyntaxError(f"a graph must be text, not {type(graph).__name__}")
    return parse_source(Source(graph))


def parse_source(source: Source) -> Pipeline:
    pipeline = _Parser(source, depth=0).graph()
    for term, depth in walk(pipeline):
        if depth > MAX_NESTING:
            raise too_deep(term.mark)
    return pipeline


class _Parser(Cursor):
    def __init__(self, source: Source, depth: int) -> None:
        super().__init__(source, depth)
        self._forms: dict[str, Callable[[Token], Term]] = {
            "pipe": self._pipe,
            "switch": self._switch,
            "repeat": self._repeat,
            "foreach": self._foreach,
            "until": self._until,
        }

    def graph(self) -> Pipeline:
        statements: list[Pipeline] = []
        while True:
            while self.take(";"):
                pass
            if self.peek.kind == END:
                break
            statements.append(self._parallel())
            if self.peek.kind not in (";", END) and not self.peek.fresh_line:
                raise self.unexpected("'>>' or the end of the statement")
        if not statements:
            raise located(GraphSyntaxError, f"the {self.source.name} is empty", self.peek.mark, "name a task")
        if len(statements) == 1:
            return statements[0]
        return Pipeline((BlockTerm(tuple(statements), mark=statements[0].mark),), mark=statements[0].mark)

    def _parallel(self) -> Pipeline:
        """Operators bind as in Python: `>>` first, then `&`, then `|`."""
        return self._joined("|", "ANY", lambda: self._joined("&", "ALL", self._pipeline))

    def _joined(self, symbol: str, join: Join, operand: Callable[[], Pipeline]) -> Pipeline:
        branches = [operand()]
        while self.take(symbol):
            branches.append(operand())
        if len(branches) == 1:
            return branches[0]
        mark = branches[0].mark
        return Pipeline((GroupTerm(tuple(branches), join, mark=mark),), mark=mark)

    def _pipeline(self) -> Pipeline:
        terms = [self._term()]
        while self.take(">>"):
            terms.append(self._term())
        return Pipeline(tuple(terms), mark=terms[0].mark)

    def _term(self) -> Term:
        token = self.peek
        if token.kind == "(":
            operand: Term = self._group(")")
        elif token.kind == "[":
            operand = self._group("]")
        elif token.kind == "name":
            operand = self._word()
        else:
            raise self.unexpected("a task name")
        return self._postfix(operand)

    def _group(self, closing: str) -> GroupTerm:
        opening = self.advance()
        with self.nested(opening):
            branches = [self._parallel()]
            while self.take(","):
                branches.append(self._parallel())
            self.expect(closing, f"{closing!r}, ',' or '>>'")
        return _plain_group(branches, opening.mark)

    def _word(self) -> Term:
        token = self.advance()
        # The next statement may begin with a parenthesis, so only the forms look beyond the end of the line.
        if self.peek.kind == "(" and (token.text in self._forms or not self.peek.fresh_line):
            if token.text not in self._forms and self.after_next.kind == ")":
                # `a()`: calling a task gives the task, in the operator dialect.
                self.advance()
                self.advance()
                return _plain_group([Pipeline((TaskTerm(token.text, mark=token.mark),), mark=token.mark)], token.mark)
            if token.text not in self._forms:
                message = f"{token.text!r} is not a form with arguments"
                hint = f"{suggestion(token.text, self._forms)}; a task is written without parentheses"
                raise located(GraphSyntaxError, message, token.mark, hint)
            return self._forms[token.text](token)
        if self.take(":"):
            return self._aliased(token)
        return TaskTerm(token.text, mark=token.mark)

    def _aliased(self, alias: Token) -> TaskTerm:
        task = self.expect("name", "the name of a task")
        if self.peek.kind == "(" and (task.text in self._forms or not self.peek.fresh_line):
            raise located(GraphSyntaxError, f"only a task can have another name, not {task.text}(…)", alias.mark)
        return TaskTerm(task.text, alias.text, mark=alias.mark)

    def _postfix(self, operand: Term) -> Term:
        wrapped = 0
        while self.peek.kind in ("[", "%") and not self.peek.fresh_line:
            wrapped += 1
            if wrapped > MAX_NESTING:
                raise too_deep(self.peek.mark)
            inner = isinstance(operand, GroupTerm) and len(operand.branches) == 1
            body = operand.parts()[0] if inner else Pipeline((operand,), mark=operand.mark)
            operand = self._until_operator(body) if self.take("%") else self._loop_operator(body)
        return operand

    def _loop_operator(self, body: Pipeline) -> Term:
        """`a[3]` or `a["$ctx.items as item"]`."""
        self.expect("[", "'['")
        token = self.advance()
        if token.kind == "number":
            term: Term = RepeatTerm(body, self.whole(token), old=True, mark=body.mark)
        elif token.kind == "text":
            try:
                over, item = parse_foreach_selector(token.text)
            except ValueError as error:
                raise located(GraphValidationError, str(error), token.mark) from None
            alias = None if item is None else Value(item, "name", mark=token.mark)
            term = ForEachTerm(body, Value(over, "text", mark=token.mark), alias, old=True, mark=body.mark)
        else:
            raise self.unexpected('a number or a text such as "$ctx.params.items as item"', token)
        self.expect("]", "']'")
        return term

    def _until_operator(self, body: Pipeline) -> UntilTerm:
        """`a % "condition"` or `a % ("condition", 10)`."""
        limit = None
        if self.take("("):
            condition = self.expect("text", "a condition in quotes")
            if self.take(","):
                limit = self.whole(self.expect("number", "the largest number of iterations"))
                self.take(",")
            self.expect(")", "')'")
        else:
            condition = self.expect("text", "a condition in quotes")
        return UntilTerm(body, value_of(condition), limit, old=True, mark=body.mark)

    def _pipe(self, word: Token) -> PipeRefTerm:
        self.advance()
        name = self.advance()
        if name.kind not in ("name", "text"):
            raise self.unexpected("the name of a pipe", name)
        self.expect(")", "')'")
        return PipeRefTerm(name.text, mark=word.mark)

    def _repeat(self, word: Token) -> RepeatTerm:
        given = self._arguments(word, "count", "collect")
        return RepeatTerm(self._body(), given["count"], collect=given.get("collect"), mark=word.mark)

    def _foreach(self, word: Token) -> ForEachTerm:
        given = self._arguments(word, "over", "item", "index", "collect", "parallel")
        return ForEachTerm(
            self._body(),
            given["over"],
            given.get("item"),
            given.get("index"),
            given.get("parallel"),
            collect=given.get("collect"),
            mark=word.mark,
        )

    def _until(self, word: Token) -> UntilTerm:
        given = self._arguments(word, "cond", "max_iter", "collect")
        return UntilTerm(
            self._body(), given["cond"], given.get("max_iter"), collect=given.get("collect"), mark=word.mark
        )

    def _switch(self, word: Token) -> SwitchTerm:
        if self.after_next.kind == "text":
            return self._switch_operator(word)
        on = self._arguments(word, "on")["on"]
        opening = self.expect("{", "'{' and the cases")
        cases: list[SwitchCase] = []
        with self.nested(opening):
            while not self.take("}"):
                if not self.take(";"):
                    cases.append(self._case())
        return SwitchTerm(on, tuple(cases), mark=word.mark)

    def _case(self) -> SwitchCase:
        key = self.advance()
        if not is_value(key) or key.kind == "path":
            raise self.unexpected("a case such as 'key: task' or '}'", key)
        self.expect(":", "':' after the case key")
        if self.peek.kind == "text" and self.after_next.kind in (";", "}"):
            branch = self._text_branch(self.advance())
        else:
            branch = self._parallel()
        if self.peek.kind not in (";", "}"):
            raise self.unexpected("'>>', ';' before the next case, or '}'")
        is_default = key.kind == "name" and key.text == "default"
        return SwitchCase(None if is_default else value_of(key), branch, mark=key.mark)

    def _text_branch(self, token: Token) -> Pipeline:
        """A branch in quotes is a graph of its own."""
        parser = _Parser(Source(token.text, f"case text of line {token.mark.line}"), self.depth)
        branch = parser.graph()
        if isinstance(branch.terms[0], BlockTerm):
            raise located(GraphSyntaxError, "a case is one sequence, not several statements", token.mark)
        return branch

    def _switch_operator(self, word: Token) -> SwitchTerm:
        """`switch("…")["key" >> a, "*" >> b]`."""
        self.advance()
        on = value_of(self.advance())
        self.expect(")", "')'")
        opening = self.expect("[", "'[' and the cases")
        with self.nested(opening):
            cases = [self._case_operator()]
            while self.take(",") and self.peek.kind != "]":
                cases.append(self._case_operator())
            self.expect("]", "']', ',' before the next case, or '>>'")
        return SwitchTerm(on, tuple(cases), old=True, mark=word.mark)

    def _case_operator(self) -> SwitchCase:
        key = self.advance()
        if key.kind not in ("text", "number") and key.text not in _BOOLEANS:
            raise self.unexpected('a case such as "key" >> task', key)
        self.expect(">>", "'>>' after the case key")
        branch = self._pipeline()
        if key.kind == "name":
            value: Value | None = Value(_BOOLEANS[key.text], "name", mark=key.mark)
        else:
            value = None if key.kind == "text" and key.text == "*" else value_of(key)
        return SwitchCase(value, branch, mark=key.mark)

    def _arguments(self, word: Token, required: str, *optional: str) -> dict[str, Value]:
        self.advance()
        known = (required, *optional)
        values: dict[str, Value] = {}
        while self.peek.kind != ")" or values:
            name = self.expect("name", f"an argument such as {required}=…")
            if name.text not in known:
                message = f"{word.text} has no argument {name.text!r}"
                raise located(GraphSyntaxError, message, name.mark, suggestion(name.text, known))
            self.expect("=", f"'=' after {name.text}")
            value = self.advance()
            if not is_value(value):
                raise self.unexpected(f"a value for {name.text}", value)
            values[name.text] = self.whole(value) if value.kind == "number" else value_of(value)
            if not self.take(","):
                break
        self.expect(")", "',' or ')'")
        if required not in values or (values[required].kind == "text" and not values[required].text):
            raise located(GraphSyntaxError, f"{word.text} needs {required}=…", word.mark)
        return values

    def _body(self) -> Pipeline:
        opening = self.expect("{", "'{' and the steps of the loop")
        with self.nested(opening):
            body = self._parallel()
            self.expect("}", "'>>' or '}'")
        return body


def _plain_group(branches: list[Pipeline], mark: Mark) -> GroupTerm:
    """Parentheses around `a & b` are the group itself, not a group within a group."""
    first = branches[0].terms[0]
    if len(branches) == 1 and len(branches[0].terms) == 1 and isinstance(first, GroupTerm) and len(first.branches) > 1:
        return first
    return GroupTerm(tuple(branches), mark=mark)
