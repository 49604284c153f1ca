"""Several features at once: where one feature's corner meets another's."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

from observe import Lab, Observation, case

from pyoco import Flow
from pyoco.core.models import RunContext, Task
from pyoco.dsl.expressions import Expression
from pyoco.dsl.graph import build_flow_from_graph
from pyoco.dsl.syntax import switch


def boom() -> None:
    raise ValueError("boom")


def from_graph(lab: Lab, graph: str, tasks: list[Task], params: dict[str, Any], **options: Any) -> Observation:
    pipes = options.pop("pipes", None)
    flow = build_flow_from_graph(graph=graph, tasks={task.name: task for task in tasks}, pipes=pipes)
    return lab.run(flow, params, **options)


@case()
def aliases_pipes_and_references(lab: Lab) -> Observation:
    tasks = [
        Task(func=lambda n: n, name="load", inputs={"n": "$ctx.params.start"}),
        Task(func=lambda a, b: [a, b], name="join", inputs={"a": "$node.left.output", "b": "$node.right.output"}),
    ]
    pipes = {"both": "left:load >> pipe(second)", "second": "right:load"}
    return from_graph(lab, "pipe(both) >> result:join", tasks, {"start": 4}, pipes=pipes)


@case()
def alias_in_a_loop_keeps_the_last_result(lab: Lab) -> Observation:
    tasks = [
        Task(func=lambda ctx: ctx.get_var("x") * 2, name="double"),
        Task(func=lambda v: v, name="show", inputs={"v": "$node.d.output"}),
    ]
    return from_graph(lab, "foreach(over=xs, item=x){ d:double >> show }", tasks, {"xs": [1, 2, 3]})


@case()
def aliases_share_the_state_of_their_function(lab: Lab) -> Observation:
    class Counter:
        calls = 0

        def run(self) -> int:
            self.calls += 1
            return self.calls

    return from_graph(lab, "x:c >> y:c >> z:c", [Task(func=Counter().run, name="c")], {})


@case()
def alias_keeps_retries(lab: Lab) -> Observation:
    calls: list[int] = []

    def flaky() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")
        return len(calls)

    return from_graph(lab, "x:f", [Task(func=flaky, name="f", retries=1)], {})


@case()
def alias_keeps_outputs_and_policy(lab: Lab) -> Observation:
    tasks = [Task(func=boom, name="f", fail_policy="isolate"), Task(func=lambda: 1, name="g", outputs=["scratch.g"])]
    return from_graph(lab, "y:g >> x:f", tasks, {}, show=("status", "states", "scratch"))


@case()
def retries_in_a_nested_loop_see_the_same_frame(lab: Lab) -> Observation:
    seen: list[str] = []

    def func(ctx: Any) -> None:
        seen.append(ctx.loop.path)
        if len(seen) % 2:
            raise ValueError("odd")

    return lab.run(Flow() >> lab.task("a", func, retries=1)[2]["$ctx.params.xs as x"], {"xs": [7]}) | {"seen": seen}


@case()
def params_changed_in_a_loop_steer_the_next_switch(lab: Lab) -> Observation:
    step = lab.task("step", lambda ctx: ctx.loop.index, outputs=["params.k"])
    even, odd = lab.tasks("even odd")
    flow = Flow() >> (step >> switch("$ctx.params.k")[0 >> even, 1 >> odd])[2]
    return lab.run(flow, show=("status", "nodes", "params"))


@case()
def output_into_scratch_is_a_loop_source(lab: Lab) -> Observation:
    make = lab.task("make", lambda: [3, 4], outputs=["scratch.todo.list"])
    body = lab.task("body", lambda ctx: ctx.loop.item)
    return lab.run(Flow() >> make >> body["$ctx.scratch.todo.list as x"], show=("status", "results", "scratch"))


@case()
def until_over_a_switch(lab: Lab) -> Observation:
    count = lab.task("count", lambda ctx: ctx.loop.iteration)
    last = lab.task("last", lambda: "last")
    body = count >> switch("$ctx.results.count")[3 >> last, "*" >> lab.task("more")]
    return lab.run(Flow() >> body % ("$ctx.results.count >= 3", 9), show=("status", "nodes"))


@case()
def condition_on_the_loop_itself(lab: Lab) -> Observation:
    flow = Flow() >> (lab.task("a") % "$ctx.loop.iteration == 2")[2]
    return lab.run(flow, show=("status", "nodes"))


@case()
def repeat_count_from_a_result(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("n", lambda: 3) >> lab.task("a")[Expression("$ctx.results.n - 1")]
    return lab.run(flow, show=("status", "nodes"))


@dataclasses.dataclass
class Order:
    kind: str
    lines: list[int]


@case()
def objects_steer_loops_and_switches(lab: Lab) -> Observation:
    orders = [Order("a", [1, 2]), Order("b", [])]
    line = lab.task("line", lambda ctx: ctx.get_var("n"))
    a, b = lab.tasks("a b")
    body = switch("$ctx.o.kind")["a" >> a, "b" >> b] >> line["$ctx.o.lines as n"]
    return lab.run(Flow() >> body["$ctx.params.orders as o"], {"orders": orders}, show=("status", "nodes", "results"))


@case()
def isolate_any_and_a_reference_to_the_failed_parent(lab: Lab) -> Observation:
    flow = Flow() >> [lab.task("a", boom, fail_policy="isolate"), lab.task("b")]
    flow >> lab.task("c", lambda x: x, inputs={"x": "$node.a.output"}, trigger_policy="ANY", fail_policy="isolate")
    return lab.run(flow, mention=("a",))


@case()
def isolate_any_binds_what_there_is(lab: Lab) -> Observation:
    flow = Flow() >> [lab.task("a", boom, fail_policy="isolate"), lab.task("b")]
    flow >> lab.task("c", lambda a="no a", b="no b": [a, b], trigger_policy="ANY")
    return lab.run(flow)


@case()
def any_waits_for_nobody_but_the_first(lab: Lab) -> Observation:
    gate = threading.Event()
    flow = Flow() >> [lab.task("slow", lambda: gate.wait(10)), lab.task("fast")]
    flow >> lab.task("c", lambda ctx: [sorted(ctx.results), gate.set()][0], trigger_policy="ANY")
    return lab.run(flow)


@case()
def shared_list_over_parallel_tasks(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("box", list)
    flow >> [lab.task(name, lambda box, n=name: box.append(n)) for name in "pqr"]
    flow >> lab.task("sorted", lambda box: sorted(box))
    seen = lab.run(flow)
    return {"status": seen["status"], "sorted": seen["results"]["sorted"]}


@case()
def logs_of_a_switch_in_a_loop(lab: Lab) -> Observation:
    a = lab.task("a", lambda ctx: print("a", ctx.get_var("x")))
    b = lab.task("b", lambda ctx: print("b", ctx.get_var("x")))
    flow = Flow() >> switch("$ctx.x")[1 >> a, "*" >> b]["$ctx.params.xs as x"]
    return lab.run(flow, {"xs": [1, 2]}, show=("status", "logs"))


@case()
def artifact_per_pass(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: ctx.save_artifact(f"pass/{ctx.loop.index}.txt", "x") and None)[3]
    return lab.run(flow, show=("status", "artifacts"))


@case()
def records_of_a_loop_that_fails_late(lab: Lab) -> Observation:
    def func(ctx: Any) -> int:
        return 10 // (2 - int(ctx.loop.index))

    flow = Flow() >> lab.task("a", func)[4]
    return lab.run(flow, show=("status", "states", "errors", "nodes"))


@case()
def nested_run_in_a_loop_has_its_own_frames(lab: Lab) -> Observation:
    from observe import Recorder

    from pyoco.core.engine import Engine

    def inner(ctx: Any) -> list[Any]:
        return [frame.path for frame in ctx.loops]

    def outer(ctx: Any) -> list[Any]:
        flow = Flow() >> lab.task("i", inner)[1]
        deep = Engine(trace_backend=Recorder()).run(flow).results["i"]  # type: ignore[arg-type]
        return [ctx.loop.path, deep]

    return lab.run(Flow() >> lab.task("o", outer)[2])


@case()
def variables_do_not_leak_into_the_next_run(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: [ctx.get_var("v", "unset"), ctx.set_var("v", 1)][0])
    return {"runs": [lab.run(flow)["results"] for _ in range(2)]}


@case()
def input_dict_of_the_task_is_not_changed_by_a_run(lab: Lab) -> Observation:
    one = Task(func=lambda x, ctx: x, name="a", inputs={"x": "$ctx.params.p"})
    seen = lab.run(Flow() >> one, {"p": 5})
    return seen | {"inputs": one.inputs}


@case()
def metadata_survives_a_failure_in_a_loop(lab: Lab) -> Observation:
    run = RunContext(metadata={"owner": "me"})

    def func(ctx: Any) -> None:
        ctx.run_context.metadata["pass"] = ctx.loop.index
        if ctx.loop.index == 1:
            raise ValueError("enough")

    seen = lab.run(Flow() >> lab.task("a", func)[3], run_context=run)
    return seen | {"metadata": run.metadata}


@case()
def unicode_everywhere(lab: Lab) -> Observation:
    tasks = [
        Task(func=lambda größe: größe, name="größe_holen", inputs={"größe": "$ctx.params.größe"}),
        Task(
            func=lambda x: f"{x} 🐇", name="表示", inputs={"x": "$node.größe_holen.output"}, outputs=["scratch.結果.値"]
        ),
    ]
    return from_graph(lab, "größe_holen >> 表示", tasks, {"größe": "groß"}, show=("status", "results", "scratch"))


@case()
def task_named_like_a_keyword_of_the_context(lab: Lab) -> Observation:
    tasks = [
        Task(func=lambda: 1, name="params"),
        Task(func=lambda x: x, name="results", inputs={"x": "$node.params.output"}),
    ]
    return from_graph(lab, "params >> results", tasks, {})


@case()
def fan_out_between_long_chains(lab: Lab) -> Observation:
    flow = Flow() >> (lab.task("a", lambda: 1) >> lab.task("b", lambda a: a + 1))
    flow >> [lab.task("c", lambda b: b + 1), lab.task("d", lambda b: b + 2)]
    flow >> (lab.task("e", lambda c, d: c + d) >> lab.task("f", lambda e: e + 1))
    return lab.run(flow)


@case()
def result_named_like_a_param_is_hidden_by_it(lab: Lab) -> Observation:
    flow = (
        Flow() >> lab.task("x", lambda: "result") >> lab.task("t", lambda x, y: [x, y], inputs={"y": "$node.x.output"})
    )
    return lab.run(flow, {"x": "param"})
