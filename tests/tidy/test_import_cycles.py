"""Modules do not import each other in cycles, nor behind TYPE_CHECKING."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "src"
# Cycles that are left, as the modules that take part in each: their objects refer to each other. Only ever make this
# shorter.
KNOWN = [
    {
        "ostler.engine.connection",
        "ostler.engine.handle",
        "ostler.engine.pubsub.subscription",
        "ostler.engine.pubsub.topic_patterns",
        "ostler.engine.pubsub.topic_tree",
        "ostler.engine.queue.get_request",
        "ostler.engine.queue.get_waiters",
        "ostler.engine.queue.queue",
        "ostler.engine.unit_of_work",
    },
    {
        "ostler.client.aio.async_connection",
        "ostler.client.aio.async_queue",
        "ostler.client.aio.async_topic",
        "ostler.client.api.connection",
        "ostler.client.api.consumer",
        "ostler.client.api.consumer_loop",
        "ostler.client.api.queue",
        "ostler.client.api.subscribe_options",
        "ostler.client.api.topic",
    },
    {
        "ostler.server.net.conversation",
        "ostler.server.net.link",
        "ostler.server.net.link_agent",
        "ostler.server.net.link_memory",
        "ostler.server.net.reactor",
        "ostler.server.net.reactor_handler",
    },
]


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports anywhere at its top level, behind TYPE_CHECKING too.

    Imports within functions are made when they are needed, and make no cycle.
    """
    names: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names |= {inner} if inner in known else {node.module} & known.keys()
        pending.extend(ast.iter_child_nodes(node))
    return names


def find_cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components with more than one module (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            component = set(stack[stack.index(name) :])
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(component)

    for name in sorted(graph):
        if name not in numbers:
            visit(name)
    return found


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"d"}}
    assert find_cycles(graph) == [{"a", "b", "c"}]


def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    graph = {name: imports_of(path, known) - {name} for name, path in known.items()}
    grown = [sorted(cycle) for cycle in find_cycles(graph) if not any(cycle <= allowed for allowed in KNOWN)]
    assert grown == [], "import cycles: move what both need into the lower module, or into one of its own"
