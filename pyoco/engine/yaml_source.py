"""Reads untrusted YAML into plain values and remembers where each key stands, so that errors can point at it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_DEPTH = 100
MAX_ALIASED_VALUES = 100_000

_MERGE_TAG = "tag:yaml.org,2002:merge"
# What the parser says -> what the author of the file can do about it.
_HINTS = {
    "that cannot start any token": "indent with spaces, and put text that starts with a special character in quotes",
    "mapping values are not allowed here": "put text that contains ': ' in quotes, and check the indentation",
    "could not determine a constructor": "only plain YAML values are allowed",
    "but found another document": "remove the '---' line; a file holds one document",
    "found undefined alias": "define the anchor (&name) before its first use (*name)",
    "expected <block end>": "check the indentation",
}

Path = tuple[Hashable, ...]


class DocumentError(ValueError):
    """A flow.yaml cannot be used; says where and, if possible, what to write instead."""

    def __init__(
        self,
        problem: str,
        *,
        source: str = "flow.yaml",
        path: Path = (),
        line: int | None = None,
        column: int | None = None,
        hint: str = "",
    ) -> None:
        self.problem = problem
        self.source = source
        self.path = dotted(path)
        self.line = line
        self.column = column
        self.hint = hint
        place = source if line is None else f"{source}:{line}:{column}"
        where = f"{place}: {self.path}" if path else place
        super().__init__(f"{where}: {problem}; {hint}" if hint else f"{where}: {problem}")


class YamlSyntaxError(DocumentError, yaml.YAMLError):
    """The text is not YAML at all. User code that catches yaml's own error catches this one too."""


class YamlSource:
    """The values of one YAML document (`data`) together with their places in the text."""

    def __init__(self, name: str, data: Any, root: Node | None, warnings: list[str]) -> None:
        self.name = name
        self.data = data
        self.warnings = warnings
        self._root = root

    def error(self, path: Path, problem: str, hint: str = "") -> DocumentError:
        line, column = self.position(path)
        return DocumentError(problem, source=self.name, path=path, line=line, column=column, hint=hint)

    def warn(self, path: Path, problem: str) -> None:
        line, _ = self.position(path)
        self.warnings.append(
            f"{dotted(path)}: {problem}" if line is None else f"line {line}: {dotted(path)}: {problem}"
        )

    def position(self, path: Path) -> tuple[int | None, int | None]:
        """Line and column (from 1) of the deepest key of `path` that is written in the text."""
        node = self._root
        if node is None:
            return None, None
        mark = node.start_mark
        for key in path:
            entry = _entry(node, key)
            if entry is None:
                break
            mark, node = entry[0].start_mark, entry[1]
        return mark.line + 1, mark.column + 1


def dotted(path: Path) -> str:
    return ".".join(str(key) for key in path)


def read_yaml(text: str, name: str) -> YamlSource:
    """Parses one document. Raises nothing but DocumentError, whatever the text."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as exc:
        raise _unreadable_character(text, name, exc) from None
    try:
        root = loader.get_single_node()
        if root is None:
            return YamlSource(name, None, None, [])
        _check_size(root, name)
        warnings = _duplicate_keys(root)
        return YamlSource(name, loader.construct_document(root), root, warnings)
    except yaml.MarkedYAMLError as exc:
        raise _not_yaml(exc, name) from None
    except RecursionError:
        raise DocumentError("values are nested too deeply", source=name) from None
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    # Not CSafeLoader: a few thousand opening brackets overflow its C stack and kill the process.

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            if isinstance(node, ScalarNode):
                node.value.encode()  # half a surrogate pair ("\ud83d") could never be stored or sent
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as exc:
            # SafeLoader lets the conversion's own error through: `2024-99-99`, `!!bool maybe`, `!!int ""`, …
            kind = node.tag.rpartition(":")[2]
            problem = f"{str(node.value)[:40]!r} is not a valid {kind}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from exc


def _entry(node: Node, key: Hashable) -> tuple[Node, Node] | None:
    if not isinstance(node, MappingNode):
        return None
    scalars = _Loader("")
    # from the end: the last of two equal keys is the one that counts
    for key_node, value_node in reversed(node.value):
        if isinstance(key_node, ScalarNode) and scalars.construct_object(key_node) == key:
            return key_node, value_node
    return None


def _check_size(root: Node, name: str) -> None:
    """Aliases (`*x`) make a small text stand for a huge value; measure it without building it."""
    known: dict[int, tuple[int, int] | None] = {}

    def measure(node: Node) -> tuple[int, int]:
        if id(node) in known:
            found = known[id(node)]
            if found is None:
                raise _at(node, name, "a value contains itself through an alias")
            return found
        known[id(node)] = None
        sizes = [measure(child) for child in _children(node)]
        size = 1 + sum(size for size, _ in sizes)
        depth = 1 + max((depth for _, depth in sizes), default=0)
        known[id(node)] = size, depth
        return size, depth

    size, depth = measure(root)
    if depth > MAX_DEPTH:
        raise _at(root, name, f"values are nested more than {MAX_DEPTH} levels deep")
    if size - len(known) > MAX_ALIASED_VALUES:
        raise _at(root, name, f"aliases stand for more than {MAX_ALIASED_VALUES} values")


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for entry in node.value for part in entry]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _duplicate_keys(root: Node) -> list[str]:
    """YAML lets the last of two equal keys win in silence; the author should hear of it."""
    warnings: list[str] = []
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        waiting.extend(reversed(_children(node)))
        if isinstance(node, MappingNode):
            warnings.extend(_repeated([key for key, _ in node.value if isinstance(key, ScalarNode)]))
    return warnings


def _repeated(keys: list[ScalarNode]) -> list[str]:
    first: dict[tuple[str, str], ScalarNode] = {}
    warnings = []
    for key in keys:
        earlier = first.setdefault((key.tag, key.value), key)
        if earlier is not key and key.tag != _MERGE_TAG:
            line, earlier_line = key.start_mark.line + 1, earlier.start_mark.line + 1
            warnings.append(f"line {line}: {key.value!r} is already given in line {earlier_line}; the last one counts")
    return warnings


def _at(node: Node, name: str, problem: str) -> DocumentError:
    mark = node.start_mark
    return DocumentError(problem, source=name, line=mark.line + 1, column=mark.column + 1)


def _not_yaml(exc: yaml.MarkedYAMLError, name: str) -> YamlSyntaxError:
    mark = exc.problem_mark or exc.context_mark
    problem = exc.problem or exc.context or "cannot be read"
    hint = next((text for part, text in _HINTS.items() if part in problem), "")
    return YamlSyntaxError(
        f"not valid YAML: {problem}",
        source=name,
        line=mark.line + 1 if mark else None,
        column=mark.column + 1 if mark else None,
        hint=hint,
    )


def _unreadable_character(text: str, name: str, exc: yaml.reader.ReaderError) -> YamlSyntaxError:
    before = text[: exc.position]
    return YamlSyntaxError(
        f"the character {text[exc.position]!r} is not allowed in YAML",
        source=name,
        line=before.count("\n") + 1,
        column=exc.position - (before.rfind("\n") + 1) + 1,
    )
