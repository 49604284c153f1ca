"""The rows of the live display."""

from __future__ import annotations

import pytest

from pyoco.cli.board import Board, Line, Mood, duration
from pyoco.engine.events import (
    Decided,
    NodeCancelled,
    NodeFailed,
    NodeProgressed,
    NodeRetrying,
    NodeStarted,
    NodeSucceeded,
    NodeWaiting,
)


def only(board: Board) -> Line:
    (line,) = board.lines()
    return line


def test_a_node_is_pending_then_running_then_done() -> None:
    board = Board(["a"])
    assert (only(board).mood, only(board).seconds(9.0)) == (Mood.PENDING, None)
    board.apply(NodeStarted("a", "a", 1.0, 1))
    assert (only(board).mood, only(board).seconds(4.0)) == (Mood.RUNNING, 3.0)
    board.apply(NodeSucceeded("a", "a", 3.5, 1, None))
    assert (only(board).mood, only(board).seconds(9.0)) == (Mood.DONE, 2.5)


def test_progress_and_its_message_are_shown_until_the_node_ends() -> None:
    board = Board(["a"])
    board.apply(NodeStarted("a", "a", 1.0, 1))
    board.apply(NodeProgressed("a", "a", 2.0, 40.0, "loading"))
    assert (only(board).percent, only(board).note) == (40.0, "loading")
    board.apply(NodeSucceeded("a", "a", 3.0, 1, None))
    assert (only(board).percent, only(board).note) == (None, "")


def test_a_retry_says_why_and_keeps_the_clock_running() -> None:
    board = Board(["a"])
    board.apply(NodeStarted("a", "a", 1.0, 1))
    board.apply(NodeRetrying("a", "a", 2.0, 1, "boom\nmore", None, 0.1))
    assert (only(board).mood, only(board).note) == (Mood.RETRYING, "attempt 1 failed: boom")
    board.apply(NodeStarted("a", "a", 3.0, 2))
    assert (only(board).mood, only(board).note, only(board).seconds(5.0)) == (Mood.RUNNING, "attempt 2", 4.0)


@pytest.mark.parametrize(
    ("event", "mood", "note"),
    [
        (NodeWaiting("a", "a", 2.0, 1, "approval", "Go on?"), Mood.WAITING, "Go on?"),
        (NodeFailed("a", "a", 2.0, 1, "boom"), Mood.FAILED, "boom"),
        (NodeFailed("a", "a", 2.0, 0, "not run", skipped=True), Mood.SKIPPED, "not run"),
        (NodeCancelled("a", "a", 2.0), Mood.CANCELLED, ""),
    ],
)
def test_each_way_to_stop_has_its_mood(event: NodeWaiting, mood: Mood, note: str) -> None:
    board = Board(["a"])
    board.apply(NodeStarted("a", "a", 1.0, 1))
    board.apply(event)
    assert (only(board).mood, only(board).note) == (mood, note)


def test_a_node_in_loops_shows_which_iteration_it_is() -> None:
    board = Board(["a"])
    board.apply(Decided("foreach", "foreach", 1.0, ["x", "y"]))
    board.apply(Decided("foreach[1]/repeat", "repeat", 1.0, 5))
    board.apply(NodeStarted("foreach[1]/repeat[3]/a", "a", 1.0, 1))
    assert only(board).place == "2/2 4/5"


def test_an_until_loop_shows_its_number_but_not_its_limit() -> None:
    board = Board(["a"])
    board.apply(Decided("until", "until", 1.0, 1000))
    board.apply(NodeStarted("until[2]/a", "a", 1.0, 1))
    assert only(board).place == "#3"


def test_iterations_side_by_side_have_a_line_each_while_they_run() -> None:
    board = Board(["a"])
    for number in range(3):
        board.apply(NodeStarted(f"foreach[{number}]/a", "a", 1.0, 1))
    assert [line.place for line in board.lines()] == ["#1", "#2", "#3"]
    board.apply(NodeSucceeded("foreach[0]/a", "a", 2.0, 1, None))
    assert [line.place for line in board.lines()] == ["#2", "#3"]
    board.apply(NodeSucceeded("foreach[2]/a", "a", 3.0, 1, None))
    board.apply(NodeSucceeded("foreach[1]/a", "a", 4.0, 1, None))
    assert [(line.place, line.mood) for line in board.lines()] == [("#3", Mood.DONE)]


def test_without_room_for_all_the_running_and_failed_nodes_are_kept_in_order() -> None:
    board = Board([f"n{number}" for number in range(10)])
    for number in range(6):
        board.apply(NodeStarted(f"n{number}", f"n{number}", float(number), 1))
    for number in (0, 1, 2, 3):
        board.apply(NodeSucceeded(f"n{number}", f"n{number}", 10.0 + number, 1, None))
    board.apply(NodeFailed("n4", "n4", 20.0, 1, "boom"))
    shown, rest = board.visible(4)
    assert [line.node for line in shown] == ["n3", "n4", "n5"]
    assert rest == "and 7 more: 4 pending, 3 done"
    assert board.visible(10) == (board.lines(), "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.25, "250 ms"), (1.25, "1.2 s"), (59.94, "59.9 s"), (125, "2 m 05 s"), (7260, "2 h 01 m")],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_parallel_loop_ends_with_the_line_of_its_last_iteration() -> None:
    board = Board(["a"])
    board.apply(Decided("foreach", "foreach", 0.0, ["x", "y", "z"]))
    for index in range(3):
        board.apply(NodeStarted(f"foreach[{index}]/a", "a", 1.0, 1))
    for index in (2, 0, 1):
        board.apply(NodeSucceeded(f"foreach[{index}]/a", "a", 2.0, 1, None))
    assert [line.place for line in board.lines()] == ["3/3"]
