"""§5 Context: standalone use, variables, results, artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from observe import Lab, Observation, case, plain, table

from pyoco import Flow
from pyoco.core.context import Context, LoopFrame


@case()
def standalone_defaults(lab: Lab) -> Observation:
    context = Context()
    return {
        "dicts": [context.params, context.results, context.scratch, context.artifacts, context.env],
        "rest": [context.run_context, context.is_cancelled, context.loop, plain(context.loops)],
    }


@case()
def standalone_with_values(lab: Lab) -> Observation:
    context = Context(params={"p": 1}, results={"n": {"k": 2}}, env={"E": "3"})
    return {"resolved": [context.resolve(text) for text in ("$ctx.params.p", "$node.n.output.k", "$env.E", "text", 5)]}


@case()
def results_by_name(lab: Lab) -> Observation:
    context = Context()
    context.set_result("a", 1)
    return {"known": context.get_result("a"), "unknown": context.get_result("b"), "results": context.results}


@case()
def variables(lab: Lab) -> Observation:
    context = Context()
    before = [context.get_var("v"), context.get_var("v", "default")]
    context.set_var("v", None)
    during = context.get_var("v", "default")
    context.clear_var("v")
    context.clear_var("v")
    return {"before": before, "during": during, "after": context.get_var("v", "default")}


@case()
def expression_data_has_roots_and_variables(lab: Lab) -> Observation:
    context = Context(params={"p": 1})
    context.set_var("v", 2)
    data = context.expression_data()
    roots = ("artifacts", "loop", "loops", "params", "results", "scratch")
    return {"roots": [root in data for root in roots], "v": data["v"], "params": data["params"]}


@case()
def env_data_merges(lab: Lab) -> Observation:
    with lab.environ(CORPUS_A="outer", CORPUS_B="outer"):
        data = Context(env={"CORPUS_A": "inner"}).env_data()
    return {"a": data["CORPUS_A"], "b": data["CORPUS_B"]}


@case()
def loop_frames_stack_up(lab: Lab) -> Observation:
    context = Context()
    context.push_loop(LoopFrame(name="repeat", type="repeat", index=0))
    context.push_loop(LoopFrame(name="until", type="until", index=1))
    assert context.loop is not None
    seen = [context.loop.name, [frame.name for frame in context.loops]]
    context.pop_loop()
    assert context.loop is not None
    return {"two": seen, "one": context.loop.name}


@case()
def pop_on_empty_is_an_error(lab: Lab) -> Observation:
    return lab.builds(lambda: Context().pop_loop())


@case()
def loop_frame_defaults(lab: Lab) -> Observation:
    frame = LoopFrame(name="n", type="repeat")
    return {"rest": [frame.index, frame.iteration, frame.count, frame.item, frame.condition, frame.path]}


@case()
def dicts_are_shared_by_all_tasks(lab: Lab) -> Observation:
    def first(ctx: Any) -> None:
        ctx.params["p"] = 1
        ctx.scratch["s"] = 2
        ctx.results["r"] = 3
        ctx.env["CORPUS_E"] = "4"

    flow = Flow() >> lab.task("a", first) >> lab.task("b", lambda p, r, ctx: [p, r, ctx.scratch["s"]])
    flow >> lab.task("c", lambda e: e, inputs={"e": "$env.CORPUS_E"})
    return lab.run(flow)


@table({"none": None, "empty": {}})
def params_default_to_an_empty_dict(lab: Lab, params: Any) -> Observation:
    return lab.run(Flow() >> lab.task("a", lambda ctx: ctx.params == {}), params, show=("results", "params"))


@case()
def run_id_through_the_run_context(lab: Lab) -> Observation:
    from pyoco.core.models import RunContext

    run = RunContext(run_id="mine")
    return lab.run(Flow() >> lab.task("a", lambda ctx: ctx.run_context.run_id), run_context=run)


DATA: dict[str, Any] = {
    "text": ("note.txt", "größe"),
    "bytes": ("data.bin", b"\x00\xff"),
    "dict": ("d.json", {"a": 1}),
    "list": ("l.json", [1, "x"]),
    "int": ("n", 5),
    "none": ("none", None),
    "tuple": ("t", (1,)),
    "nested_path": ("a/b/c.txt", "deep"),
    "empty_text": ("empty", ""),
}


@table(DATA)
def artifact(lab: Lab, row: tuple[str, Any]) -> Observation:
    name, data = row
    context = Context(artifact_dir=str(lab.scratch / "store"))
    path = Path(context.save_artifact(name, data))
    entry = context.artifacts[name]
    return {
        "absolute": path.is_absolute(),
        "place": path == lab.scratch / "store" / name,
        "content": path.read_bytes().decode("utf-8", "backslashreplace"),
        "type": entry["type"],
        "path": Path(entry["path"]) == path,
    }


@case()
def artifact_may_be_overwritten(lab: Lab) -> Observation:
    context = Context(artifact_dir=str(lab.scratch))
    context.save_artifact("a", "first")
    path = Path(context.save_artifact("a", b"second"))
    return {"content": path.read_text(), "type": context.artifacts["a"]["type"], "known": list(context.artifacts)}


@case()
def artifact_from_a_task_lands_in_the_working_directory(lab: Lab) -> Observation:
    flow = Flow() >> lab.task("a", lambda ctx: ctx.save_artifact("out/x.txt", "hello"))
    seen = lab.run(flow, show=("status", "artifacts"))
    return seen | {"content": (Path.cwd() / "artifacts" / "out" / "x.txt").read_text()}


@case(fixed="Q27", expect={"created": False})
def artifacts_directory_is_lazy(lab: Lab) -> Observation:
    lab.run(Flow() >> lab.task("a"))
    return {"created": (Path.cwd() / "artifacts").exists()}


@table({"up": "../x", "deep_up": "a/../../x"}, fixed="Q27", expect={"escaped": False})
def artifact_names_stay_inside(lab: Lab, name: str) -> Observation:
    context = Context(artifact_dir=str(lab.scratch / "store"))
    lab.builds(lambda: context.save_artifact(name, "data"))
    return {"escaped": (lab.scratch / "x").exists()}


@case(fixed="Q2", expect={"outcome": "returned", "status": "COMPLETED", "results": {"t": {"x": 1}}})
def ctx_inputs_exists(lab: Lab) -> Observation:
    return lab.one(lambda ctx, x: dict(ctx.inputs), {"x": 1}, show=("status", "results"))
