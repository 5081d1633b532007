"""What people read of request/reply: a table, ratios, and the aims."""

from __future__ import annotations

from ostler.lab.bench.contestants import LEAN, NATS, NON_PERSISTENT, OSTLER, PERSISTENT, PING_PONG, RABBITMQ, RELAY, TCP
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.samples import Measurement, quartiles, ratio

HEADINGS = (
    "contestants", "RT/s", "±%", "p50 us", "p90 us", "p99 us", "p99.9 us", "broker us", "sys", "driver", "MB", "steal%",
)  # fmt: skip
_AIM_REQUESTERS = 50
_RATE, _LATENCY = "round trips", "round trip time"
LOG_PROBE = "log probe"
RATE_OVER_RABBITMQ_MIN = 2.0
TIME_OVER_RABBITMQ_MAX = 0.5
TIME_OVER_NATS_MAX = 1.0
DURABLE_OVER_RABBITMQ_MIN = 4.0
SHARE_OF_LOG_MIN = 0.5
SHARE_OF_PING_PONG_MIN = 0.6


def title_row(requesters: int, persistent: bool) -> list[str]:
    """What the following lines are about."""
    words = f"{requesters} requester{'' if requesters == 1 else 's'}{', persistent' if persistent else ''}"
    return [words] + [""] * (len(HEADINGS) - 1)


def row(name: str, found: list[Measurement]) -> list[str]:
    """One line of the table, of all that was measured of a contestant."""
    by_name = {each.name: each for each in found}
    rate = by_name[_RATE]
    low, high = quartiles(rate.samples)
    spread = 100 * ratio(high - low, 2 * rate.median)
    cells = [f"  {name}", f"{rate.median:,.0f}", f"{spread:.0f}"]
    if _LATENCY not in by_name:
        return cells + [""] * (len(HEADINGS) - len(cells))
    percentiles = by_name[_LATENCY].percentiles
    cells += [f"{percentiles[each] / 1000:,.0f}" for each in ("50", "90", "99", "99.9")]
    user, system = by_name["broker user time"].median, by_name["broker system time"].median
    cells += [f"{user + system:.1f}", f"{system:.1f}", f"{by_name['driver time'].median:.1f}"]
    cells += [f"{by_name['broker memory'].median / (1 << 20):,.0f}", f"{by_name['steal'].median:.1f}"]
    return cells


class _Figures:
    """The median rates and costs of one case."""

    def __init__(self, result: Result, persistence: str, requesters: int) -> None:
        self._result = result
        self._labels: dict[str, str | int] = {"persistence": persistence, "requesters": requesters, "transport": TCP}

    def rate(self, broker: str, client: str = LEAN) -> float:
        return self._median(_RATE, broker, client)

    def cost(self, broker: str, client: str = LEAN) -> float:
        user = self._median("broker user time", broker, client)
        return user + self._median("broker system time", broker, client)

    def _median(self, name: str, broker: str, client: str) -> float:
        try:
            return self._result.find(name, broker=broker, client=client, **self._labels).median
        except KeyError:
            return 0.0


def note_aims(result: Result) -> None:
    """Ratios for every number of requesters, and the aims where they are set."""
    counts = sorted({int(each.labels["requesters"]) for each in result.measurements})
    for count in counts:
        plain, durable = _Figures(result, NON_PERSISTENT, count), _Figures(result, PERSISTENT, count)
        is_aim = count == _AIM_REQUESTERS
        for client, word, exchanges in ((LEAN, "verb by verb", 4), ("pipelined", "pipelined", 2)):
            where = f"{word}, {count} requesters"
            rate, cost = plain.rate(OSTLER, client), plain.cost(OSTLER, client)
            _compare(result, f"rate / RabbitMQ transient, {where}", rate, plain.rate(RABBITMQ), is_aim, least=2.0)
            text = f"broker time / RabbitMQ transient, {where}"
            _compare(result, text, cost, plain.cost(RABBITMQ), is_aim, most=TIME_OVER_RABBITMQ_MAX)
            _compare(result, f"broker time / NATS, {where}", cost, plain.cost(NATS), is_aim, most=TIME_OVER_NATS_MAX)
            text = f"{exchanges} exchanges a round trip / bare ping-pong, {where}"
            _compare(result, text, exchanges * rate, plain.rate(PING_PONG), is_aim, least=SHARE_OF_PING_PONG_MIN)
            _compare(result, f"rate / bare relay, {where}", rate, plain.rate(RELAY), False)
            rate = durable.rate(OSTLER, client)
            text = f"persistent rate / RabbitMQ durable, {where}"
            _compare(result, text, rate, durable.rate(RABBITMQ), is_aim, least=DURABLE_OVER_RABBITMQ_MIN)
            text = f"persistent rate / log probe, {where}"
            _compare(result, text, rate, _log_rate(result, count), is_aim, least=SHARE_OF_LOG_MIN)


def _log_rate(result: Result, requesters: int) -> float:
    try:
        return result.find(_RATE, contestant=LOG_PROBE, requesters=requesters).median
    except KeyError:
        return 0.0


def _compare(
    result: Result, text: str, over: float, under: float, is_aim: bool, least: float = 0.0, most: float = 0.0
) -> None:
    if not over or not under:
        return
    found = result.ratios[text] = ratio(over, under)
    if is_aim and (least or most):
        result.aims.append(Aim(text, most or least, found, bool(most)))
