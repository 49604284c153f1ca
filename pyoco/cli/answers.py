"""Answers to nodes that wait: from the command line, or from the person at the terminal."""

from __future__ import annotations

import difflib
import json
import select
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .failure import Problem

_LOOK_UP_SEC = 0.2


@dataclass(frozen=True)
class Wait:
    """A node that waits for an answer."""

    path: str
    node: str
    key: str
    prompt: str | None


def node_of(path: str) -> str:
    """The name of the node at a path: `foreach[2]/review#2` is the second `review` of an iteration."""
    return path.rpartition("/")[2].partition("#")[0]


@dataclass(frozen=True)
class Answer:
    """`rejection` is None for an approval."""

    payload: Any = None
    rejection: str | None = None


class GivenAnswers:
    """The answers of the command line; each serves once, in the order given."""

    def __init__(self, answers: Iterable[tuple[str, Any]], rejections: Iterable[tuple[str, str]]) -> None:
        self._left = [(node, Answer(payload)) for node, payload in answers]
        self._left += [(node, Answer(rejection=reason)) for node, reason in rejections]

    def check(self, nodes: Iterable[str]) -> None:
        """Refuses an answer for a node that the flow does not have, before anything runs."""
        known = list(nodes)
        for target, _ in self._left:
            name = node_of(target)
            if target not in known and name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"its nodes are {', '.join(known)}"
                raise Problem(f"Error: there is no node {target!r} to answer in this flow", hint)

    def take(self, wait: Wait) -> Answer | None:
        for index, (target, answer) in enumerate(self._left):
            if target in (wait.node, wait.path):
                del self._left[index]
                return answer
        return None

    def unused(self) -> list[str]:
        return [target for target, _ in self._left]


def ask(wait: Wait) -> Answer:
    """Asks the person at the terminal."""
    print(f"\n{wait.node} waits: {wait.prompt or wait.key}")
    while (reply := _prompt("Approve? [y/n] ").lower()) not in ("y", "yes", "n", "no"):
        print("Please type y or n.")
    if reply.startswith("n"):
        return Answer(rejection=_prompt("Reason (may be empty): ") or "rejected")
    return Answer(payload=_data(_prompt("Data to hand over, JSON or text (may be empty): ")))


def _prompt(text: str) -> str:
    """Like `input`, but certain to notice a Ctrl-C: a signal right before a read would not end it."""
    print(text, end="", flush=True)
    while not select.select([sys.stdin], [], [], _LOOK_UP_SEC)[0]:
        pass
    reply = sys.stdin.readline()
    if not reply:
        raise EOFError
    return reply.strip()


def _data(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except json.JSONDecodeError:
        return text


def how_to_answer(waits: Iterable[Wait]) -> str:
    """For a run that nobody is there to answer."""
    lines = ["The run waits for an answer, and there is nobody to ask. Run it again with:"]
    for wait in waits:
        lines.append(f"  --answer {wait.path}=JSON  or  --reject {wait.path}=REASON    ({wait.prompt or wait.key})")
    return "\n".join(lines)
