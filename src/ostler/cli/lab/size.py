"""`ostler lab size`: answers sizing questions, from measured runs and by the calculations of the reports.

Exit statuses: 0, or 2 if a question or a run cannot be used.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ostler.cli.framework import commands
from ostler.cli.lab.runs import add_runs_option, find_run

if TYPE_CHECKING:
    from ostler.lab.sizing.needs import Need
    from ostler.lab.sizing.shared_storage import OffloadRule

USAGE: Final = 2
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?([KMGT]?)B?")
_RULE: Final = re.compile(r"([0-9]{1,3}):(.+)")
_MESSAGE_BYTES_MAX: Final = 100 << 20

_DESCRIPTION: Final = """\
Size a planned load from measured runs: queue managers, processors, memory, log, storage, network, channels; or the
storage of queue-sharing groups by the calculations of the z/OS report."""
_LOAD: Final = """\
What a load needs, from what one operation needed in the runs that are named. Every line says how it was reckoned; a
line without evidence names the scenario that would give it."""


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers, "size", "what a planned load needs, from measured runs", _DESCRIPTION, USAGE
    )
    questions = parser.add_subparsers(dest="question", metavar="QUESTION", title="questions", required=True)
    _add_load(questions)
    _add_structure(questions)
    _add_data_set(questions)
    _add_buffers(questions)
    _add_spread(questions)


def _add_load(questions: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_command(questions, "load", "needs of a load, from measured runs", _LOAD, USAGE)
    parser.add_argument("names", nargs="*", metavar="RUN", help="directories or names of runs; without any: all")
    parser.add_argument("--rate", type=_positive, required=True, metavar="N", help="round trips a second")
    parser.add_argument(
        "--message-bytes", type=_length, default=2048, metavar="N", help="length of a message: 2048, 20K (%(default)s)"
    )
    parser.add_argument("--persistent", action="store_true", help="messages are persistent")
    parser.add_argument("--clients", type=_count, default=0, metavar="N", help="connected applications")
    parser.add_argument("--depth", type=_count, default=0, metavar="N", help="messages that wait while nobody gets")
    parser.add_argument(
        "--log-seconds", type=_positive, default=60.0, metavar="N", help="seconds of load in the log (%(default)s)"
    )
    parser.add_argument("--channels", action="store_true", help="messages go to another queue manager")
    parser.add_argument("--distance", type=_positive, default=0.0, metavar="KM", help="to the other machine")
    parser.add_argument(
        "--busy", type=_percent, default=70.0, metavar="PERCENT", help="how busy it may become (%(default)s)"
    )
    add_runs_option(parser)
    _add_json(parser)
    parser.set_defaults(run=run_load)


def _add_structure(questions: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_command(
        questions, "structure", "messages that a coupling facility structure holds",
        "Messages of one length that a structure holds, with ALLOWAUTOALT(YES) and offload rules.", USAGE,
    )  # fmt: skip
    parser.add_argument("--size", type=_storage, required=True, metavar="N", help="size of the structure: 512M")
    parser.add_argument("--message-bytes", type=_length, required=True, metavar="N", help="length of a message: 16K")
    parser.add_argument("--cflevel", type=int, choices=range(1, 6), default=5, help="CFLEVEL (%(default)s)")
    parser.add_argument(
        "--offload", type=_rule, action="append", default=[], metavar="PERCENT:N",
        help="OFFLDnTH and OFFLDnSZ, up to three times (70:32K 80:4K 90:0K)",
    )  # fmt: skip
    _add_json(parser)
    parser.set_defaults(run=_structure)


def _add_data_set(questions: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_command(
        questions, "data-set", "messages that a shared message data set holds",
        "Messages of one length that a data set holds, and the structure that they need.", USAGE,
    )  # fmt: skip
    parser.add_argument("--size", type=_data_set_size, default=16 << 40, metavar="N", help="size of the data set (16T)")
    parser.add_argument("--message-bytes", type=_length, required=True, metavar="N", help="length, headers included")
    parser.add_argument("--aligned", action="store_true", help="each message begins on a page of 4 KB")
    _add_json(parser)
    parser.set_defaults(run=_data_set)


def _add_buffers(questions: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_command(
        questions, "buffers", "storage for buffers of data sets",
        "Storage that each queue manager reserves: DSBLOCK times DSBUFS for each structure.", USAGE,
    )  # fmt: skip
    parser.add_argument("--dsblock", type=_block, default=256 << 10, metavar="N", help="8K to 1M, doubled (256K)")
    parser.add_argument("--dsbufs", type=_buffers_count, default=100, metavar="N", help="1 to 9999 (%(default)s)")
    parser.add_argument("--structures", type=_structures, default=1, metavar="N", help="1 to 63 (%(default)s)")
    _add_json(parser)
    parser.set_defaults(run=_buffers)


def _add_spread(questions: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_command(
        questions, "spread", "a load on more structures than were measured",
        "The load of many structures from that of a few, each as loaded as before.", USAGE,
    )  # fmt: skip
    parser.add_argument(
        "--measured", type=_structures, required=True, metavar="N", help="structures of the measurement"
    )
    parser.add_argument("--rate", type=_positive, required=True, metavar="N", help="round trips a second of each")
    parser.add_argument("--written", type=_positive, required=True, metavar="MB", help="MB a second to each data set")
    parser.add_argument("--structures", type=_structures, required=True, metavar="N", help="structures to predict")
    parser.add_argument("--rate-max", type=_positive, default=0.0, metavar="N", help="what the facility can carry")
    _add_json(parser)
    parser.set_defaults(run=_spread)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", dest="is_json", help="as one JSON object")


# -- arguments ---------------------------------------------------------------------------------------------------------


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text.strip().upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 2048, 20K, 512M or 16T")
    return int(found[1]) * _UNITS[found[2]]


def _storage(text: str) -> int:
    if not (found := _size(text)):
        raise argparse.ArgumentTypeError(f"{text} holds nothing")
    return found


def _length(text: str) -> int:
    if (found := _size(text)) > _MESSAGE_BYTES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is too long: messages have at most 100M")
    return found


def _data_set_size(text: str) -> int:
    from ostler.lab.sizing.shared_storage import DATA_SET_BYTES_MAX

    if (found := _storage(text)) > DATA_SET_BYTES_MAX:
        raise argparse.ArgumentTypeError(f"{text} is too large: a data set has at most 16T")
    return found


def _block(text: str) -> int:
    from ostler.lab.sizing.shared_storage import BLOCK_BYTES

    if (found := _size(text)) not in BLOCK_BYTES:
        raise argparse.ArgumentTypeError(f"{text} is not a DSBLOCK: 8K, 16K, 32K and so on to 1M")
    return found


def _buffers_count(text: str) -> int:
    from ostler.lab.sizing.shared_storage import BUFFERS_MAX

    return _count_to(text, BUFFERS_MAX)


def _structures(text: str) -> int:
    from ostler.model.coupling.terms import STRUCTURES_MAX

    return _count_to(text, STRUCTURES_MAX)


def _count_to(text: str, most: int) -> int:
    if not 1 <= (found := _count(text)) <= most:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to {most:,}")
    return found


def _rule(text: str) -> OffloadRule:
    from ostler.lab.sizing.shared_storage import OffloadRule

    found = _RULE.fullmatch(text)
    if found is None or int(found[1]) > 100:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage and a size, such as 80:4K")
    return OffloadRule(int(found[1]), _size(found[2]))


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e15:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def _percent(text: str) -> float:
    value = _positive(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{text} is not a percentage up to 100")
    return value


# -- answers -----------------------------------------------------------------------------------------------------------


def run_load(arguments: argparse.Namespace) -> int:
    if find_spec("pyarrow") is None:
        print("ostler lab needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
        return 1
    from ostler.lab.sizing.evidence import gather_evidence
    from ostler.lab.sizing.needs import Demand, size_load
    from ostler.lab.store.manifest import RunUnreadable
    from ostler.lab.store.run_reader import read_run, stored_runs

    try:
        if arguments.names:
            directories = [find_run(name, arguments.runs) for name in arguments.names]
        else:
            directories = list(stored_runs(arguments.runs))
            if not directories:
                print(f"There are no runs in {arguments.runs}: only what needs none is answered.", file=sys.stderr)
        evidence = gather_evidence([read_run(each) for each in directories])
    except RunUnreadable as refused:
        print(f"ostler lab size load: {refused}", file=sys.stderr)
        return USAGE
    demand = Demand(
        rate_per_second=arguments.rate,
        message_bytes=arguments.message_bytes,
        is_persistent=arguments.persistent,
        clients=arguments.clients,
        depth=arguments.depth,
        log_seconds=arguments.log_seconds,
        channels=arguments.channels,
        distance_km=arguments.distance,
        busy_percent_max=arguments.busy,
    )
    needs = size_load(demand, evidence)
    if arguments.is_json:
        print(json.dumps({"runs": len(directories), "needs": [each.as_json() for each in needs]}, indent=2))
        return 0
    _show(needs)
    if directories:
        runs = f"{len(directories)} run{'' if len(directories) == 1 else 's'}"
        print(f"From {runs}; noise {evidence.noise_percent:.0f} %.")
    if evidence.is_quick:
        print("Some runs are quick ones: a few seconds of measuring. Run the full form before you buy anything.")
    return 0


def _show(needs: Iterable[Need]) -> None:
    for need in needs:
        amount = "unknown" if need.value is None else f"{_number(need.value)} {need.unit}".strip()
        print(f"{need.resource + ':':<24}{amount}")
        print(f"{'':<24}{need.how}.")
        if need.source:
            print(f"{'':<24}Measured: {need.source}.")
        if need.is_extrapolated and need.value is not None:
            print(f"{'':<24}Extrapolated: beyond what was measured.")


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 1 else f"{value:.3g}"


def _answer(arguments: argparse.Namespace, found: Mapping[str, float], sentence: str) -> int:
    print(json.dumps(dict(found), indent=2) if arguments.is_json else sentence)
    return 0


def _structure(arguments: argparse.Namespace) -> int:
    from ostler.lab.sizing.shared_storage import CFLEVEL_OFFLOADING, DEFAULT_RULES, structure_capacity

    if refusal := _structure_refusal(arguments):
        print(f"ostler lab size structure: {refusal}", file=sys.stderr)
        return USAGE
    rules = tuple(arguments.offload) or DEFAULT_RULES
    found = structure_capacity(arguments.size, arguments.message_bytes, arguments.cflevel, rules)
    sentence = f"{found.messages:,} messages"
    if found.offloaded:
        elsewhere = "data sets" if arguments.cflevel >= CFLEVEL_OFFLOADING else "Db2"
        sentence += f": {found.held_whole:,} in the structure, {found.offloaded:,} in {elsewhere}"
    values = {"messages": found.messages, "held_whole": found.held_whole, "offloaded": found.offloaded}
    return _answer(arguments, values, sentence + ".")


def _structure_refusal(arguments: argparse.Namespace) -> str:
    """Return what does not fit together; empty if all does."""
    from ostler.lab.sizing.shared_storage import CFLEVEL_LARGE, CFLEVEL_OFFLOADING, RULES_MAX, WHOLE_BYTES_MAX

    if len(arguments.offload) > RULES_MAX:
        return f"a structure has {RULES_MAX} offload rules, and {len(arguments.offload)} are given"
    if arguments.offload and arguments.cflevel < CFLEVEL_OFFLOADING:
        return f"--offload is for CFLEVEL(5): nothing is offloaded by rules with CFLEVEL({arguments.cflevel})"
    if arguments.message_bytes > WHOLE_BYTES_MAX and arguments.cflevel < CFLEVEL_LARGE:
        return f"messages of more than 63K need CFLEVEL(4) or (5): CFLEVEL({arguments.cflevel}) refuses them"
    return ""


def _data_set(arguments: argparse.Namespace) -> int:
    from ostler.lab.sizing.shared_storage import data_set_messages, structure_bytes_for

    messages = data_set_messages(arguments.message_bytes, arguments.size, arguments.aligned)
    needed = structure_bytes_for(messages)
    sentence = f"{messages:,} messages, which need {needed / (1 << 30):,.2f} GB of structure."
    return _answer(arguments, {"messages": messages, "structure_bytes": needed}, sentence)


def _buffers(arguments: argparse.Namespace) -> int:
    from ostler.lab.sizing.shared_storage import buffer_storage_bytes

    needed = buffer_storage_bytes(arguments.dsblock, arguments.dsbufs, arguments.structures)
    return _answer(arguments, {"bytes": needed}, f"{_number(needed / (1 << 20))} MB in each queue manager.")


def _spread(arguments: argparse.Namespace) -> int:
    from ostler.lab.sizing.shared_storage import SpreadLoad, predict_structures

    measured = SpreadLoad(arguments.measured, arguments.rate, arguments.written * 1e6)
    found = predict_structures(measured, arguments.structures, arguments.rate_max)
    sentence = (
        f"{found.rate_of_all:,.0f} round trips and {found.written_of_all / 1e6:,.0f} MB written a second, "
        f"{found.rate_per_second:,.0f} and {found.written_bytes_per_second / 1e6:,.0f} MB on each structure."
    )
    values = {"rate_per_second": found.rate_of_all, "written_bytes_per_second": found.written_of_all}
    return _answer(arguments, values, sentence)
