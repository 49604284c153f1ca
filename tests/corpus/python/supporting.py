"""§12 `pyoco.support.build`: key facts of what it says about tasks and the flow format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from observe import Lab, Observation, case, table

from pyoco import support
from pyoco.core.exceptions import (
    InvalidFilterError,
    InvalidFormatError,
    MissingTaskMetadataError,
    OutputWriteError,
    SupportInfoError,
    TaskNotFoundError,
)

PLUGIN = """
def triple(x=1):
    return x * 3

def register(registry):
    registry.register_callable(triple, name="corpus/triple")
    registry.task_info(
        name="corpus/triple", summary="three times as much", usage="corpus/triple", tags=["math"],
        inputs=[{"name": "x", "type": "int", "required": True}],
        outputs=[{"name": "tripled", "type": "int", "required": False, "constraints": ["> 0"]}],
    )
"""


def build(lab: Lab, kind: str, config: str = "", **options: Any) -> Any:
    """`support.build` with one described plug-in task at hand."""
    path = lab.write("flow.yaml", config)
    with lab.importable(corpus_support=PLUGIN), lab.stdout():
        home = "modules/corpus_support-2.0.dist-info"
        lab.write(f"{home}/METADATA", "Metadata-Version: 2.1\nName: corpus-support\nVersion: 2.0\n")
        lab.write(f"{home}/entry_points.txt", "[pyoco.tasks]\ncorpus = corpus_support:register\n")
        return support.build(kind, str(path), **options)


@table({"tasks": "tasks", "task": "task"})
def as_json(lab: Lab, kind: str) -> Observation:
    answer = json.loads(build(lab, kind, format="json", filters={"name": ["corpus/triple"]}))
    found = answer["groups"][0]["tasks"][0]
    return {
        "kind": answer["kind"],
        "origin": answer["groups"][0]["origin"],
        "task": [found["name"], found["summary"], found["tags"], found["origin"]],
        "inputs": found["inputs"],
        "outputs": found["outputs"],
    }


@case()
def guide_as_json(lab: Lab) -> Observation:
    answer = json.loads(build(lab, "guide", format="json"))
    return {"kind": answer["kind"], "texts": [bool(answer[key]) for key in ("template", "graph_syntax", "input_refs")]}


@table({"prompt": "prompt", "md": "md"})
def as_text(lab: Lab, style: str) -> Observation:
    answer = build(lab, "tasks", format=style)
    return {"has": [word in answer for word in ("corpus/triple", "three times as much", "x", "int", "math")]}


@table({"prompt": "prompt", "md": "md"})
def guide_as_text(lab: Lab, style: str) -> Observation:
    answer = build(lab, "guide", format=style)
    return {
        "has": [word in answer for word in (">>", "repeat(", "foreach(", "until(", "switch(", "$ctx.params.", "$node.")]
    }


@case()
def prompt_is_the_default(lab: Lab) -> Observation:
    return {"same": build(lab, "guide") == build(lab, "guide", format="prompt")}


FILTERS: dict[str, dict[str, Any]] = {
    "name_list": {"name": ["corpus/triple"]},
    "name_text": {"name": "corpus/triple"},
    "tag": {"tag": ["math"]},
    "origin": {"origin": ["corpus"]},
    "all": {"name": ["corpus/triple"], "tag": ["math"], "origin": ["corpus"]},
    "unknown_name": {"name": ["nope"]},
    "unknown_tag": {"name": ["corpus/triple"], "tag": ["nope"]},
    "unknown_filter": {"colour": ["red"]},
}


@table(FILTERS)
def filters(lab: Lab, wanted: dict[str, Any]) -> Observation:
    seen = lab.attempt(lambda: build(lab, "tasks", format="json", filters=wanted))
    if seen["outcome"] == "returned":
        answer = json.loads(seen.pop("value"))
        seen["names"] = [found["name"] for group in answer["groups"] for found in group["tasks"]]
    return seen


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "kind": ("bogus", {}),
    "format": ("tasks", {"format": "xml"}),
    "guide_format": ("guide", {"format": "xml"}),
    "task_without_a_name": ("task", {}),
}


@table(BAD)
def is_refused(lab: Lab, row: tuple[str, dict[str, Any]]) -> Observation:
    return lab.builds(lambda: build(lab, row[0], **row[1]))


# The description then comes from the signature and the docstring, so that `support` is of use for every flow.
@case(fixed="support", expect={"outcome": "returned"})
def task_without_metadata(lab: Lab) -> Observation:
    config = 'tasks:\n  plain: {callable: "corpus_support:triple"}\n'
    return lab.builds(lambda: build(lab, "tasks", config), mention=("plain",))


@case()
def output_file(lab: Lab) -> Observation:
    target = lab.scratch / "out" / "guide.md"
    answer = build(lab, "guide", format="md", output_path=str(target))
    return {"written": Path(target).read_text(encoding="utf-8").strip() == answer.strip()}


@case()
def unwritable_output_file(lab: Lab) -> Observation:
    blocker = lab.write("file", "in the way")
    return lab.builds(lambda: build(lab, "guide", output_path=str(blocker / "below")))


@case()
def error_attributes(lab: Lab) -> Observation:
    errors: list[Any] = [
        InvalidFormatError("f"),
        TaskNotFoundError("n"),
        InvalidFilterError("v"),
        OutputWriteError("p"),
    ]
    missing = MissingTaskMetadataError("m", ["a", "b"])
    return {
        "values": [
            errors[0].format,
            errors[1].name,
            errors[2].filter_value,
            errors[3].path,
            missing.name,
            missing.fields,
        ],
        "family": all(isinstance(error, SupportInfoError) for error in [*errors, missing]),
        "texts": [text in str(error) for error, text in zip([*errors, missing], "fnvpm", strict=True)],
    }
