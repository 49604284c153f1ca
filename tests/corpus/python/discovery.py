"""§8 Task discovery: callables, modules, overlays, `use`, precedence."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, plain, table

from pyoco.core.models import Task
from pyoco.discovery.loader import TaskLoader
from pyoco.dsl.graph import build_flow_from_graph
from pyoco.schemas.config import PyocoConfig

MODULE = """
from pyoco import task
from pyoco.core.models import Task

@task
def deco(x=1):
    return x * 2

deco.task.inputs = {"x": 5}
deco.task.retries = 2
raw = Task(func=lambda x=0: x + 1, name="raw_name", inputs={"x": 3}, outputs=["scratch.raw"], retries=1)
alias = deco

def plain_function():
    return "plain"

class Runner:
    def run(self):
        return "ran"
    def __call__(self):
        return "called"

runner = Runner()
not_a_task = 3
"""


def load(lab: Lab, text: str, modules: str = "", strict: bool = False) -> tuple[Observation, Any]:
    """Load a configuration; what the loader printed counts as lines only, the wording is ours."""
    path = lab.write("flow.yaml", text)
    with lab.environ(PYOCO_DISCOVERY_MODULES=modules), lab.stdout() as out:
        config = PyocoConfig.from_yaml(str(path))
        loader = TaskLoader(config, strict=strict)
        seen = lab.builds(loader.load)
    return seen | {"printed": len(out.getvalue().splitlines())}, loader


def describe(task: Task) -> list[Any]:
    return [task.name, plain(task.inputs), plain(task.outputs), task.retries]


def loaded(lab: Lab, text: str, modules: str = "", *only: str, strict: bool = False) -> Observation:
    with lab.importable(corpus_mod=MODULE):
        seen, loader = load(lab, text, modules, strict)
        names = only or tuple(sorted(loader.tasks))
        return seen | {"tasks": {name: describe(loader.tasks[name]) for name in names if name in loader.tasks}}


CALLABLES = {
    "function": "corpus_mod:plain_function",
    "class_instance": "corpus_mod:runner",
    "unknown_attribute": "corpus_mod:nope",
    "unknown_module": "corpus_nope:f",
}


@table(CALLABLES)
def callable_path(lab: Lab, path: str) -> Observation:
    return loaded(lab, f'tasks:\n  t: {{callable: "{path}", inputs: {{k: 1}}, outputs: [scratch.t]}}\n')


@table({"no_colon": "corpus_mod", "two_colons": "corpus_mod:a:b"})
def malformed_callable_path(lab: Lab, path: str) -> Observation:
    """Refused when the file is read or when its tasks are loaded: the contract does not say which."""
    text = f'tasks:\n  t: {{callable: "{path}"}}\n'
    with lab.importable(corpus_mod=MODULE):
        return lab.builds(lambda: TaskLoader(PyocoConfig.from_yaml(str(lab.write("flow.yaml", text)))).load())


@case()
def callable_that_cannot_be_imported_is_harmless_if_unused(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE):
        seen, loader = load(
            lab, 'tasks:\n  bad: {callable: "corpus_nope:f"}\n  ok: {callable: "corpus_mod:plain_function"}\n'
        )
        flow = build_flow_from_graph(graph="ok", tasks=loader.tasks)
        return seen | lab.run(flow)


@case()
def callable_that_cannot_be_imported_is_not_found_by_the_graph(lab: Lab) -> Observation:
    _, loader = load(lab, 'tasks:\n  bad: {callable: "corpus_nope:f"}\n')
    return lab.builds(lambda: build_flow_from_graph(graph="bad", tasks=loader.tasks), mention=("bad",))


@case(fixed="Q20", expect={"tasks": {"t": ["t", {"x": 5}, [], 2]}})
def callable_to_a_decorated_task_keeps_its_policies(lab: Lab) -> Observation:
    return {"tasks": loaded(lab, 'tasks:\n  t: {callable: "corpus_mod:deco"}\n')["tasks"]}


@case(fixed="Q20", expect={"inputs": {"x": 5, "y": 9}, "retries": 2})
def callable_to_a_decorated_task_merges_its_inputs(lab: Lab) -> Observation:
    seen = loaded(lab, 'tasks:\n  t: {callable: "corpus_mod:deco", inputs: {y: 9}}\n')
    _, inputs, _, retries = seen["tasks"]["t"]
    return {"inputs": inputs, "retries": retries}


@case(fixed="Q2", expect={"result": "ran"})
def callable_to_a_method_of_a_class(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE):
        _, loader = load(lab, 'tasks:\n  t: {callable: "corpus_mod:Runner.run"}\n')
        flow = build_flow_from_graph(graph="t", tasks=loader.tasks)
        return {"result": lab.run(flow)["results"]["t"]}


@table(
    {
        "one": "corpus_mod",
        "commas": "corpus_mod,",
        "blanks": "  corpus_mod  ",
        "none": "",
        "missing": "corpus_nope",
        "two": "corpus_nope, corpus_mod",
    }
)
def discovery_modules(lab: Lab, modules: str) -> Observation:
    return loaded(lab, "", modules)


@case()
def discovery_of_a_broken_module(lab: Lab) -> Observation:
    with lab.importable(corpus_broken="1 / 0\n"):
        seen, _ = load(lab, "", "corpus_broken")
    return {"outcome": seen["outcome"], "raises": seen.get("raises")}


@case()
def discovered_node_keeps_its_own_name(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE):
        _, loader = load(lab, "", "corpus_mod")
        return lab.run(build_flow_from_graph(graph="raw", tasks=loader.tasks))


@case()
def overlay_on_a_discovered_task(lab: Lab) -> Observation:
    text = "tasks:\n  raw: {inputs: {x: 7, y: 8}, outputs: [scratch.more]}\n"
    return loaded(lab, text, "corpus_mod", "raw")


@case()
def overlay_without_a_task_does_nothing(lab: Lab) -> Observation:
    return loaded(lab, "tasks:\n  nope: {inputs: {x: 7}}\n")


@case()
def use_clones_and_merges(lab: Lab) -> Observation:
    text = "tasks:\n  u: {use: raw, inputs: {y: 9}, outputs: [scratch.u]}\n  v: {use: raw}\n"
    return loaded(lab, text, "corpus_mod", "u", "v", "raw")


@case()
def use_overrides_inputs_key_by_key(lab: Lab) -> Observation:
    return loaded(lab, "tasks:\n  u: {use: raw, inputs: {x: 9}}\n", "corpus_mod", "u", "raw")


@case()
def use_of_a_use(lab: Lab) -> Observation:
    text = "tasks:\n  u: {use: raw, inputs: {x: 9}}\n  v: {use: u, outputs: [scratch.v]}\n"
    return loaded(lab, text, "corpus_mod", "u", "v")


@case(fixed="Q20", expect={"outcome": "returned", "tasks": {"v": ["v", {"x": 9}, ["scratch.raw"], 1]}})
def use_before_its_target(lab: Lab) -> Observation:
    text = "tasks:\n  v: {use: u}\n  u: {use: raw, inputs: {x: 9}}\n"
    seen = loaded(lab, text, "corpus_mod", "v")
    return {"outcome": seen["outcome"], "tasks": seen["tasks"]}


@case()
def use_of_a_callable_task(lab: Lab) -> Observation:
    text = 'tasks:\n  c: {callable: "corpus_mod:plain_function", inputs: {k: 1}}\n  u: {use: c, inputs: {j: 2}}\n'
    return loaded(lab, text)


@table({"unknown": "tasks:\n  mine: {use: nowhere}\n", "itself": "tasks:\n  mine: {use: mine}\n"})
def use_of_nothing(lab: Lab, text: str) -> Observation:
    config = PyocoConfig.from_yaml(str(lab.write("flow.yaml", text)))
    return lab.builds(TaskLoader(config).load, mention=("mine",))


@case()
def unknown_use_names_both(lab: Lab) -> Observation:
    config = PyocoConfig.from_yaml(str(lab.write("flow.yaml", "tasks:\n  mine: {use: ns/nowhere}\n")))
    return lab.builds(TaskLoader(config).load, mention=("mine", "ns/nowhere"))


@case()
def callable_beats_discovery(lab: Lab) -> Observation:
    text = 'tasks:\n  deco: {callable: "corpus_mod:plain_function"}\n'
    return loaded(lab, text, "corpus_mod", "deco")


SECOND = "from pyoco import task\n\n@task\ndef deco():\n    return 'second'\n"


@case()
def later_module_wins_with_a_warning(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE, corpus_second=SECOND):
        seen, loader = load(lab, "", "corpus_mod corpus_second")
        flow = build_flow_from_graph(graph="deco", tasks=loader.tasks)
        return seen | {"result": lab.run(flow)["results"]}


@case()
def strict_refuses_two_of_a_name(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE, corpus_second=SECOND):
        seen, _ = load(lab, "", "corpus_mod corpus_second", strict=True)
    return {"outcome": seen["outcome"], "raises": seen.get("raises")}


@case()
def strict_accepts_callable_over_discovery(lab: Lab) -> Observation:
    text = 'tasks:\n  only: {callable: "corpus_mod:plain_function"}\n'
    return loaded(lab, text, "corpus_mod", "only", strict=True)


@case()
def empty_loader(lab: Lab) -> Observation:
    seen, loader = load(lab, "")
    return seen | {"tasks": loader.tasks, "infos": loader.task_infos, "reports": loader.plugin_reports}


@case()
def get_task_by_name(lab: Lab) -> Observation:
    with lab.importable(corpus_mod=MODULE):
        _, loader = load(lab, 'tasks:\n  t: {callable: "corpus_mod:plain_function"}\n')
    return {"same": loader.get_task("t") is loader.tasks["t"]}
