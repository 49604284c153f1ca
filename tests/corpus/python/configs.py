"""§8 flow.yaml: which files load, and what they load as."""

from __future__ import annotations

from typing import Any

from observe import Lab, Observation, case, plain, table

from pyoco.schemas.config import FlowConfig, PyocoConfig, RuntimeConfig, TaskConfig


def load(lab: Lab, text: str) -> PyocoConfig:
    return PyocoConfig.from_yaml(str(lab.write("flow.yaml", text)))


def facts(config: PyocoConfig) -> Observation:
    return {
        "version": plain(config.version),
        "flow": [config.flow.graph, plain(config.flow.defaults)] if config.flow is not None else None,
        "tasks": {
            str(name): [one.callable, one.use, plain(one.inputs), plain(one.outputs)]
            for name, one in config.tasks.items()
        },
        "pipes": plain(config.pipes),
        "expose_env": plain(config.runtime.expose_env),
    }


GOOD = {
    "empty": "",
    "only_a_comment": "# nothing here\n",
    "flow_null": "flow:\n",
    "graph": "flow: {graph: a}\n",
    "graph_block": "flow:\n  graph: |\n    a\n    >> b\n",
    "graph_folded": "flow:\n  graph: >\n    a\n    >> b\n",
    "defaults": "flow: {graph: a, defaults: {x: 1, y: [1, {z: 2}]}}\n",
    "tasks": """
tasks:
  a: {callable: "m:f"}
  b: {use: ns/name, inputs: {x: 1}, outputs: [scratch.b]}
  c: {inputs: {y: 2}}
""",
    "empty_task": "tasks: {a: {}}\n",
    "pipes": "pipes: {p: a >> b}\n",
    "pipes_null": "pipes:\n",
    "runtime": "runtime: {expose_env: [A, B]}\n",
    "version_text": 'version: "2.x"\n',
    "version_number": "version: 7\n",
    "other_keys_are_ignored": "x-anchors: &a {k: 1}\nname: mine\nflow: {graph: a}\n",
    "anchors": """
x: &in {k: 1}
tasks:
  a: {callable: "m:f", inputs: *in}
  b: {callable: "m:f", inputs: {<<: *in, j: 2}}
""",
    "unicode": 'flow: {graph: größe}\ntasks:\n  größe: {callable: "m:f", inputs: {名: 終}}\n',
    "yaml_1_1_booleans": "flow: {graph: a, defaults: {a: yes, b: off, c: 'on', d: y}}\n",
    "yaml_1_1_key_on": "flow: {graph: a, defaults: {on: 1}}\n",
    "yaml_1_1_numbers": "flow: {graph: a, defaults: {a: 010, b: 0x10, c: 1_000, d: 12:30, e: 1e3, f: 1.0e+3, g: .5}}\n",
    "yaml_1_1_dates": "flow: {graph: a, defaults: {d: 2024-01-02}}\n",
    "yaml_1_1_null": "flow: {graph: a, defaults: {a: ~, b: null, c: , d: 'null'}}\n",
}


@table(GOOD)
def loads(lab: Lab, text: str) -> Observation:
    return facts(load(lab, text))


BAD = {
    "flow_text": "flow: a >> b\n",
    "flow_list": "flow: [a]\n",
    "task_text": 'tasks: {a: "m:f"}\n',
    "task_null": "tasks: {a: }\n",
    "task_list": "tasks: {a: [1]}\n",
    "callable_and_use": 'tasks: {a: {callable: "m:f", use: b}}\n',
    "pipes_list": "pipes: [a]\n",
    "pipe_number": "pipes: {a: 3}\n",
    "pipe_null": "pipes: {a: }\n",
    "flows": "flows: {main: {graph: a}}\n",
    "flows_beside_flow": "flow: {graph: a}\nflows: {}\n",
    "discovery": "discovery: {modules: [m]}\n",
}


@table(BAD)
def is_refused(lab: Lab, text: str) -> Observation:
    return lab.builds(lambda: load(lab, text))


NOT_YAML = {
    "open_list": "a: [\n",
    "tab": "flow:\n\tgraph: a\n",
    "python_tag": "x: !!python/object/apply:os.getcwd []\n",
    "unknown_anchor": "a: *nope\n",
}


@table(NOT_YAML)
def is_no_safe_yaml(lab: Lab, text: str) -> Observation:
    """The contract does not say by which class."""
    return {"outcome": lab.builds(lambda: load(lab, text))["outcome"]}


NAMED = {
    "task": ('tasks: {mine: "m:f"}\n', "tasks.mine"),
    "both": ('tasks: {mine: {callable: "m:f", use: b}}\n', "mine"),
    "pipe": ("pipes: {mine: 3}\n", "mine"),
    "flows": ("flows: {}\n", "flow:"),
    "discovery": ("discovery: {}\n", "PYOCO_DISCOVERY_MODULES"),
    "flow": ("flow: 3\n", "flow"),
}


@table(NAMED)
def message_points_to_the_place(lab: Lab, row: tuple[str, str]) -> Observation:
    return lab.builds(lambda: load(lab, row[0]), mention=(row[1],))


UNKNOWN = {
    "flow": ("flow: {graph: a, colour: red}\n", "colour"),
    "flow_without_graph": ("flow: {defaults: {}}\n", "graph"),
    "task": ('tasks: {a: {callable: "m:f", colour: red}}\n', "colour"),
    "runtime": ("runtime: {colour: red}\n", "colour"),
}


@table(UNKNOWN)
def unknown_or_missing_key(lab: Lab, row: tuple[str, str]) -> Observation:
    """The reference lets its dataclasses raise TypeError; the contract accepts ValueError for the same mistake."""
    seen = lab.builds(lambda: load(lab, row[0]), mention=(row[1],))
    return {"refused": bool({"TypeError", "ValueError"} & set(seen["raises"])), "mentions": seen["mentions"]}


NULLS = {
    "tasks": "tasks:\n",
    "runtime": "runtime:\n",
    "defaults": "flow: {graph: a, defaults: }\n",
    "inputs": "tasks: {a: {inputs: , outputs: }}\n",
}


@table(NULLS, fixed="Q19", expect={"outcome": "returned", "empty": True})
def null_sections_are_empty(lab: Lab, text: str) -> Observation:
    seen = lab.attempt(lambda: load(lab, text))
    if seen["outcome"] == "raised":
        return {"outcome": "raised", "empty": False}
    config: Any = seen["value"]
    parts = [config.flow.defaults] if config.flow else []
    parts += [part for one in config.tasks.values() for part in (one.inputs, one.outputs)]
    return {"outcome": "returned", "empty": all(part in ({}, []) and part is not None for part in parts)}


@case()
def missing_file(lab: Lab) -> Observation:
    return lab.builds(lambda: PyocoConfig.from_yaml(str(lab.scratch / "nope.yaml")))


@case()
def configs_are_constructible_by_keyword(lab: Lab) -> Observation:
    config = PyocoConfig(
        version=1,
        flow=FlowConfig(graph="a", defaults={"x": 1}),
        tasks={"a": TaskConfig(callable="m:f", inputs={"x": 1}, outputs=["scratch.a"])},
        runtime=RuntimeConfig(expose_env=["A"]),
    )
    return facts(config)


@case()
def config_defaults(lab: Lab) -> Observation:
    config = PyocoConfig(version=1, flow=None, tasks={"a": TaskConfig()})
    return facts(config) | {"flow_defaults": FlowConfig(graph="a").defaults}
