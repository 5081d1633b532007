"""Drawings of topologies: what scenarios become, and what drawings become as SVG."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.charts.topology import Box, BoxKind, Link, TopologyDrawing
from ostler.pipeline.report.topologies import topology_of


def workload(name: str) -> dict[str, Any]:
    scenario = catalogue().scenarios[name]
    return whole(scenario, catalogue().readiness(scenario))


def drawing(name: str) -> TopologyDrawing:
    made = topology_of(workload(name))
    assert made is not None
    return made


def words(made: TopologyDrawing) -> list[str]:
    """All texts of a drawing, in the order of the page."""
    return [each.text or "" for each in ElementTree.fromstring(chart_svg(made, "f-1")).iter("text")]


@pytest.mark.parametrize(
    ("name", "titles", "labels"),
    [
        ("local-rr-np", ["Requesters", "Queue manager", "Responders"], ["trusted, in process", "local binding"]),
        ("client-rr-pm", ["Requesters", "Queue manager", "Responders"], ["client channels", "local binding"]),
        (
            "dq-rr-np",
            ["Requesters", "Queue manager 1", "Queue manager 2", "Responders"],
            ["local binding", "message channels, 4 each way", "local binding"],
        ),
        ("rr-cc-tls-np", ["Requesters", "Queue manager", "Responders"], ["client channels, TLS"] * 2),
        ("pubsub-1n-np", ["Publisher", "Queue manager", "Subscribers"], ["client channels"] * 2),
        ("mqi-response-time", ["Application", "Queue manager"], ["local binding"]),
        (
            "zos-clus-bind-on-open",
            ["Requesters", "Queue manager 1", "2 more queue managers", "Servers"],
            ["local binding", "cluster channels", "local binding"],
        ),
        ("topic-scavenger-idle-100k", ["Queue manager"], []),
        ("appl-c4", ["Requesters", "10 queue managers", "Responders"], ["client channels"] * 2),
    ],
)
def test_applications_and_queue_managers_stand_along_the_path_of_messages(
    name: str, titles: list[str], labels: list[str]
) -> None:
    made = drawing(name)
    assert [each.title for each in made.boxes] == titles
    assert [each.label for each in made.links] == labels


def test_replies_come_back_and_publications_do_not() -> None:
    assert [(each.goes, each.returns) for each in drawing("client-rr-np").links] == [(True, True)] * 2
    assert [(each.goes, each.returns) for each in drawing("pubsub-1n-np").links] == [(True, False)] * 2


def test_queues_are_where_messages_wait() -> None:
    assert drawing("local-rr-np").boxes[1].items == ("requests", "replies")
    near, far = drawing("dq-rr-np").boxes[1:3]
    assert near.items == ("transmission queue", "replies")
    assert far.items == ("requests", "transmission queue")
    assert drawing("appl-c4").boxes[1].items == (f"requests {numbers.TIMES} 100", f"replies {numbers.TIMES} 100")


def test_what_queue_managers_share_is_below_them() -> None:
    shared, copied = drawing("sq-1qm-np-out").below, drawing("appl-hadr2").below
    assert shared is not None
    assert shared.title == "Coupling facility"
    assert copied is not None
    assert copied.lines == ("copied synchronously", "copied asynchronously")
    assert drawing("client-rr-np").below is None


def test_counts_are_those_that_were_measured() -> None:
    assert drawing("client-rr-np").boxes[0].lines == ("1 to 20",)
    made = topology_of(workload("client-rr-np"), {"requesters": [4, 16]})
    assert made is not None
    assert made.boxes[0].lines == ("4 to 16",)
    assert made.boxes[2].lines == ("5",)


def test_a_scenario_that_says_nothing_has_no_drawing() -> None:
    assert topology_of({}) is None
    assert topology_of({"roles": "damaged", "queue_managers": ["x"], "topology": None}) is None


def test_every_scenario_of_the_catalogue_is_drawn_inside_its_frame() -> None:
    for name, scenario in catalogue().scenarios.items():
        if not scenario.is_measured:
            continue
        made = drawing(name)
        shape = ElementTree.fromstring(chart_svg(made, "f-1")).find("svg")
        assert shape is not None
        _, _, width, height = map(float, shape.get("viewBox", "").split())
        for each in shape.iter("rect"):
            x, y, wide, high = (float(each.get(key, "nan")) for key in ("x", "y", "width", "height"))
            assert x >= 0, name
            assert x + wide <= width, name
            assert y >= 0, name
            assert y + high <= height, name
        assert {each.title.partition(" ")[0] for each in made.boxes} <= {text.partition(" ")[0] for text in words(made)}


def test_what_drawings_say_is_text_and_never_markup() -> None:
    evil = '<script>alert("x")</script>'
    boxes = (Box(BoxKind.APPLICATION, evil, (evil,), is_many=True), Box(BoxKind.MANAGER, evil, (), (evil,)))
    made = TopologyDrawing(evil, boxes, (Link(evil),), evil, Box(BoxKind.STORE, evil))
    parsed = ElementTree.fromstring(chart_svg(made, "f-1"))
    assert list(parsed.iter("script")) == []
    # An arrow to the right only.
    assert len(list(parsed.iter("path"))) == 1
