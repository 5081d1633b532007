"""The loader refuses wrong data files and says which file, which scenario and which field."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.lab.scenarios.features import FeatureState
from ostler.lab.scenarios.fields import CatalogueError
from ostler.lab.scenarios.loader import read_catalogue
from ostler.lab.scenarios.model import (
    Binding,
    Deviation,
    LoadKind,
    Persistence,
    Role,
    StopKind,
    StopRule,
    Sweep,
    Topology,
)

FEATURES = """
[queues]
name = "Queues"
state = "here"
note = "They hold messages."

[wings]
name = "Wings"
state = "missing"
part = "flying"
note = "Not yet."
"""

REPORT = """
[report]
name = "ponies"
title = "Speed of ponies"
product = "Pony"
version = "1"
platform = "meadow"
year = 1999
text = "ponies.txt"
deviations = [{ what = "one meadow", why = "there is no other" }]

[[scenario]]
id = "trot"
kind = "scenario"
title = "Trotting"
family = "request-reply"
summary = \"\"\"
Round and
round.
\"\"\"
topology = ["local"]
persistence = ["nonpersistent"]
message_bytes = [2048]
queue_managers = [1]
load = { kind = "rated", per_second = 2 }
stop = { kind = "response-time", limit = 1.0, text = "out of breath" }
roles = [{ name = "ponies", does = "trot", binding = "client", counts = [1, 2], per = "meadow" }]
sweeps = [{ name = "rounds", values = [1, 2, "many"], quick = [1], printed = [2], unit = "rounds" }]
parameters = { fences = 3, mud = true, colours = ["bay", "grey"] }
metrics = ["rounds/s"]
needs = ["queues"]
parts = [{ name = "many", needs = ["wings"] }]
deviations = [{ what = "lower fences", why = "the ponies are small" }]
source = { sections = "1", tables = "Table 1", tests = ["T1"], figures = 4 }
"""


def written(directory: Path, report: str = REPORT, features: str = FEATURES) -> Path:
    (directory / "features.toml").write_text(features)
    (directory / "ponies.toml").write_text(report)
    (directory / "README.md").write_text("not read")
    return directory


def test_all_fields_arrive(tmp_path: Path) -> None:
    found = read_catalogue(written(tmp_path))
    trot = found.find("trot")
    assert (trot.title, trot.summary, trot.report.year) == ("Trotting", "Round and round.", 1999)
    assert trot.topology == (Topology.LOCAL,)
    assert trot.persistence == (Persistence.NONPERSISTENT,)
    assert trot.syncpoint == ()
    assert (trot.message_bytes, trot.queue_managers) == ((2048,), (1,))
    assert trot.load is not None
    assert (trot.load.kind, trot.load.per_second) == (LoadKind.RATED, 2.0)
    assert trot.stop == StopRule(StopKind.RESPONSE_TIME, 1.0, "out of breath")
    assert trot.roles == (Role("ponies", "trot", Binding.CLIENT, (1, 2), "meadow"),)
    assert trot.sweeps == (Sweep("rounds", (1, 2, "many"), (1,), (2,), "rounds"),)
    assert trot.parameters == {"fences": 3, "mud": True, "colours": ("bay", "grey")}
    assert (trot.source.sections, trot.source.tables, trot.source.tests, trot.source.figures) == (
        "1", "Table 1", ("T1",), 4,
    )  # fmt: skip
    assert trot.deviations == (
        Deviation("lower fences", "the ponies are small"),
        Deviation("one meadow", "there is no other"),
    )
    assert found.features["wings"].state is FeatureState.MISSING
    assert found.features["wings"].part == "flying"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('id = "trot"', 'id = "Trot!"', "small letters"),
        ('kind = "scenario"', 'kind = "tale"', "kind: 'tale' is none of scenario"),
        ('title = "Trotting"', 'title = " "', "title: a text is wanted"),
        ('title = "Trotting"', "", "title: it is not given"),
        ('family = "request-reply"', 'family = "racing"', "family: there is no family racing"),
        ('family = "request-reply"', "", "family: a scenario that is measured needs it"),
        ('why = "the ponies are small"', 'because = "of mud"', "deviations 1: why: it is not given"),
        ('topology = ["local"]', 'topology = ["moon"]', "topology: 'moon' is none of local"),
        ('topology = ["local"]', 'topology = ["local", "local"]', "topology: something is there twice"),
        ("message_bytes = [2048]", "message_bytes = [0]", "message_bytes: a list of whole numbers above 0"),
        ("message_bytes = [2048]", "message_bytes = [true]", "message_bytes: a list of whole numbers above 0"),
        ("message_bytes = [2048]", 'message_byte = [2048]', "what is message_byte?"),
        ('kind = "rated", per_second = 2', 'kind = "rated"', "load: per_second: it is for rated load"),
        ('kind = "rated", per_second = 2', 'kind = "closed", per_second = 2', "load: per_second: it is for rated load"),
        ('"response-time", limit = 1.0', '"response-time"', "stop: limit: response-time needs one"),
        ('"response-time", limit = 1.0', '"event", limit = -1', "stop: limit: a number is wanted"),
        ('binding = "client"', 'binding = "string"', "roles 1: binding: 'string' is none of local"),
        ('does = "trot", ', "", "roles 1: does: it is not given"),
        ("quick = [1]", "quick = [3]", "sweeps 1: quick: a quick sweep runs some of the values"),
        ("quick = [1]", "quick = []", "sweeps 1: quick: at least one point"),
        ('values = [1, 2, "many"]', "values = [1.5]", "sweeps 1: values: a list of numbers or texts"),
        ("fences = 3", "fences = { a = 1 }", "parameters: fences: {'a': 1} is no plain value"),
        ('needs = ["queues"]', 'needs = ["tails"]', "needs: there is no feature tails"),
        ('needs = ["wings"]', "needs = []", "parts 1: needs: without needs of its own"),
        ('metrics = ["rounds/s"]', "", "metrics: a scenario that is measured needs it"),
        ('sections = "1", ', "", "source: sections: it is not given"),
        ("figures = 4", 'figures = "four"', "source: figures: a whole number is wanted"),
        ("parts = [{", "parts = [3, {", "parts 1: a table is wanted"),
        ("parts = [{ name = \"many\", needs = [\"wings\"] }]", "parts = 3", "parts: a list of tables is wanted"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert REPORT.count(right) == 1
    with pytest.raises(CatalogueError) as refused:
        read_catalogue(written(tmp_path, REPORT.replace(right, wrong)))
    assert said in str(refused.value)
    assert str(refused.value).startswith("ponies.toml: ")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('state = "here"', 'state = "there"', "features.toml: queues: state: 'there' is none of here"),
        ('part = "flying"', "", "features.toml: wings: part: it is for features that are missing"),
        ('state = "here"', 'state = "here"\npart = "flying"', "features.toml: queues: part: it is for features"),
        ('state = "here"', 'state = "here"\nparts = "flying"', "features.toml: queues: what is parts?"),
        ("[queues]", "[Queues]", "small letters"),
        ("[queues]", "[queues", "features.toml: Expected"),
    ],
)
def test_wrong_features_are_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    with pytest.raises(CatalogueError) as refused:
        read_catalogue(written(tmp_path, features=FEATURES.replace(right, wrong)))
    assert said in str(refused.value)


def test_a_scenario_is_in_one_place_only(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "more.toml").write_text(REPORT.replace('name = "ponies"\ntitle', 'name = "donkeys"\ntitle'))
    with pytest.raises(CatalogueError, match="trot is there twice"):
        read_catalogue(tmp_path)
    (tmp_path / "more.toml").write_text(REPORT)
    with pytest.raises(CatalogueError, match="report ponies is in two files"):
        read_catalogue(tmp_path)


def test_a_file_without_a_report_or_without_features_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "[[scenario]]\n")
    with pytest.raises(CatalogueError, match=r"ponies\.toml: report: it is not given"):
        read_catalogue(tmp_path)
    (tmp_path / "features.toml").unlink()
    with pytest.raises(CatalogueError, match=r"features\.toml: "):
        read_catalogue(tmp_path)


def test_names_of_sweeps_and_roles_are_told_apart(tmp_path: Path) -> None:
    twice = REPORT.replace("sweeps = [", 'sweeps = [{ name = "rounds", values = [1], quick = [1] }, ')
    with pytest.raises(CatalogueError, match="trot: sweeps: a name is there twice"):
        read_catalogue(written(tmp_path, twice))
    twice = REPORT.replace("roles = [", 'roles = [{ name = "ponies", does = "rest" }, ')
    with pytest.raises(CatalogueError, match="trot: roles: a name is there twice"):
        read_catalogue(written(tmp_path, twice))
