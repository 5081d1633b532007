"""Resources: the published reports that scenarios follow, the pages of this project, and trademarks."""

from __future__ import annotations

from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import Bullets, Code, Paragraph, Section, Strong, Text

_TRADEMARKS = (
    "IBM, MQ, WebSphere and z/OS are trademarks of International Business Machines Corporation. Ostler is not "
    "affiliated with IBM; names of its reports and tests are used to say what is compared."
)


def resources_section(context: Context) -> Section:
    """Return the section of resources, with the reports whose scenarios are shown."""
    reports = {
        scenario.report.name: scenario.report
        for name in context.speaking
        if (scenario := context.scenario(name)) is not None and scenario.report.text
    }
    items: list[Text] = [
        (Strong(each.title), f": {each.product} {each.version}, {each.platform}, {each.year}.")
        for each in sorted(reports.values(), key=lambda each: (each.year, each.name))
    ]
    items += [
        (
            Code("ostler lab list"),
            " lists all scenarios, ",
            Code("ostler lab show SCENARIO"),
            " shows one with its source.",
        ),
        (Code("ostler lab doctor"), " says what this machine limits, and what to do about it."),
        (Code("ostler lab compare"), " sets two runs side by side without a report."),
    ]
    return Section("resources", "Resources", (Bullets(tuple(items)), Paragraph(_TRADEMARKS, "small")))
