"""Comparisons: release to release, repeated runs, product to product, option to option, and published ratios.

Right is compared with left, and subjects name them in this order: TLS to plain, Ostler to RabbitMQ. Products and
options are compared within one run only, because machines change from hour to hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ostler.pipeline.lake.spark_schemas import as_table
from ostler.pipeline.lake.tables import COMPARISON
from ostler.pipeline.steps.comparison_metrics import (
    FOLLOWER_TIME,
    LEADER_TIME,
    METRIC_COLUMNS,
    PROCESSOR_TIME,
    RATE,
    options_text,
)
from ostler.pipeline.steps.contestants import (
    CHANNEL_OPTIONS,
    COPIED_PEERS,
    ONE_QUEUE_MANAGER,
    PRIVATE_QUEUES,
    TWO_NODES,
    WITHOUT_COPIES,
)
from ostler.pipeline.steps.link_trips import link_comparisons
from ostler.pipeline.steps.ratios import phase_comparisons, ratio_comparisons
from ostler.pipeline.steps.verdicts import PAIR_COLUMNS, apart_percent, median, with_verdict

RELEASE, REPEAT, PRODUCT, OPTION = "release", "repeat", "product", "option"
_OSTLER: Final = "ostler"
_PEER: Final = "peer"
_LIMIT: Final = "limit"
_AT_PEAK: Final = -1


@dataclass(frozen=True)
class OptionRule:
    """A swept parameter, and the value that the others are compared with. `{value}` is another one."""

    parameter: str
    baseline: str
    subject: str


OPTION_RULES: Final = (
    OptionRule("cipher_spec", "none", "TLS with {value} to plain"),
    OptionRule("log", "circular", "log {value} to circular"),
    OptionRule("responder_binding", "local", "{value} responders to standard ones"),
    OptionRule("persistence", "nonpersistent", "{value} to nonpersistent"),
    OptionRule("message_bytes", "2048", "{value} bytes to 2048"),
    OptionRule("syncpoint", "out", "syncpoint {value} to none"),
    OptionRule("file_system", "disk", "{value} to disk"),
    OptionRule("replication", "none", "{value} replication to none"),
    OptionRule("added_latency_ms", "0", "{value} ms of distance to none"),
    OptionRule("queue_managers", "1", "{value} queue managers to one"),
    OptionRule("channels", "1", "{value} channels to one"),
    OptionRule("batch_size", "50", "batches of {value} to those of 50"),
    OptionRule("round_trip_ms", "0", "{value} ms of distance to none"),
    OptionRule("messages", "nonpersistent, FAST", "{value} to nonpersistent, FAST"),
    OptionRule("property_control", "COMPAT", "PROPCTL {value} to COMPAT"),
    OptionRule("rules", "0", "{value} channel authentication rules to none"),
    OptionRule("trace", "off", "trace {value} to none"),
    OptionRule("log_on", "the disk of the queues", "log on {value} to one disk"),
    OptionRule("channel_authentication", "DISABLED", "CHLAUTH {value} to DISABLED"),
    OptionRule("messages_per_unit", "1", "units of {value} messages to single ones"),
    OptionRule("subscription", "new topic", "subscriptions with {value} to such to new topics"),
    OptionRule("api", "MQI", "{value} to MQI"),
    OptionRule("model", "A", "model {value} to A"),
    OptionRule("event", "killed", "{value} to killed"),
    OptionRule("event", "planned switch", "{value} to planned switch"),
    OptionRule("instance", "follower", "{value} to follower"),
    OptionRule("instances", "2", "{value} instances to two"),
    OptionRule("arbiter", "file", "arbiter {value} to file"),
    OptionRule("level", "CFLEVEL(4)", "{value} to CFLEVEL(4)"),
    OptionRule("offload", "none", "messages offloaded, {value} to none"),
    OptionRule("structures", "one of level 4", "{value} to one of level 4"),
    OptionRule("block_bytes", "8192", "blocks of {value} bytes to those of 8192"),
    OptionRule("buffers", "4", "{value} buffers to 4"),
    OptionRule("repository", "SQLite", "repository in {value} to SQLite"),
    OptionRule("facility", "own", "coupling facility in {value} to our own"),
    OptionRule("facility_cores", "all", "{value} of a processor for the coupling facility to all"),
    OptionRule("layout", "common", "{value} layout to common"),
    OptionRule("getter", "at the same queue manager", "getter {value} to one at the same"),
)


def comparisons(metrics: DataFrame, memory: DataFrame, published: DataFrame, printed_ratios: DataFrame) -> DataFrame:
    """Return the table of comparisons, from metrics of curves, memory of experiments, published figures and their
    ratios."""
    compared = metrics.filter(~F.col("is_published"))
    made = (
        release_pairs(compared),
        product_pairs(compared),
        option_pairs(compared),
        joined_pairs(compared),
        instance_pairs(compared),
    )
    # A plan that ends here is planned once, and not with each column of the verdict.
    pairs = reduce(DataFrame.unionByName, made).coalesce(1).localCheckpoint()
    ours = with_verdict(pairs).select(
        "*",
        F.lit(None).cast("double").alias("published_ratio"),
        F.lit(None).cast("string").alias("published_source"),
    )
    ratios = ratio_comparisons(metrics.unionByName(memory), printed_ratios)
    others = link_comparisons(metrics, published).unionByName(phase_comparisons(metrics))
    return as_table(ours, COMPARISON).unionByName(ratios).unionByName(others)


def release_pairs(metrics: DataFrame) -> DataFrame:
    """Return pairs of each run with the one before it: of another release, or the same again, which shows how steady
    the machine is.

    Only runs of one machine and one form are paired, and peaks only of the same numbers of clients: with more of them
    the same release may reach more. Other products and limits have no releases of ours: they are the same again. Limits
    were probed with the same program both times, so their change is the machine's, and counts as noise.
    """
    facts = F.struct("run", "release", "values", "noise_percent", "driver", "promise")
    line = Window.partitionBy(
        "scenario", "contestant", "kind", "series", "clients", "sweep", "metric", "machine", "is_quick"
    ).orderBy("began", "run")
    is_release = (F.col("kind") == _OSTLER) & (F.col("release") != F.col("before.release"))
    names = F.concat("contestant", F.lit(": "), "release", F.lit(" after "), "before.release")
    pairs = (
        metrics.withColumn("before", F.lag(facts).over(line))
        .filter(F.col("before").isNotNull())
        .select(
            (F.col("kind") == _LIMIT).alias("is_limit"),
            F.coalesce(F.col("clients"), F.lit(_AT_PEAK)).alias("place"),
            F.when(is_release, RELEASE).otherwise(REPEAT).alias("kind"),
            F.when(is_release, names).otherwise(F.concat("contestant", F.lit(", the same again"))).alias("subject"),
            "scenario",
            "series",
            "clients",
            "metric",
            "more_is_better",
            F.lit(True).alias("is_comparable"),
            F.col("before.release").alias("left_name"),
            F.col("release").alias("right_name"),
            F.col("before.run").alias("left_run"),
            F.col("run").alias("right_run"),
            F.col("before.values").alias("left_values"),
            F.col("values").alias("right_values"),
            F.greatest("before.noise_percent", "noise_percent").alias("noise_percent"),
            F.col("before.driver").alias("left_driver"),
            F.col("driver").alias("right_driver"),
            F.col("before.promise").alias("left_promise"),
            F.col("promise").alias("right_promise"),
        )
    )
    moved = F.when(~F.col("is_limit"), F.col("machine_percent"))
    return (
        pairs.join(_machine_changes(pairs), ["left_run", "right_run", "place"], "left")
        .withColumn("noise_percent", F.greatest("noise_percent", moved))
        .select(*PAIR_COLUMNS)
    )


def _machine_changes(pairs: DataFrame) -> DataFrame:
    """Return the largest change of the machine's limits from one run to another, at each step."""
    left, right = median(F.col("left_values")), median(F.col("right_values"))
    return (
        pairs.filter(F.col("is_limit") & (F.col("metric") == RATE))
        .filter((left > 0) & (right > 0))
        .groupBy("left_run", "right_run", "place")
        .agg(F.max(apart_percent(right / left)).alias("machine_percent"))
    )


def product_pairs(metrics: DataFrame) -> DataFrame:
    """Return pairs of Ostler with each other product of the same run, lean client to lean client and library to
    library; two queue managers to two nodes.

    Limits are not products: their rows show how near Ostler comes, without a verdict.
    """
    left = _side(metrics.filter(F.col("kind").isin(_PEER, _LIMIT)), "left")
    right = _side(metrics.filter(F.col("kind") == _OSTLER), "right")
    is_limit = F.col("left.kind") == _LIMIT
    joined = left.join(
        right,
        _same("run", "series", "metric")
        & F.col("left.clients").eqNullSafe(F.col("right.clients"))
        & (is_limit & (F.col("left.metric") == RATE) | ~is_limit & _are_clients_alike()),
    )
    return joined.select(
        *_pair(
            kind=F.lit(PRODUCT),
            subject=F.concat("right.contestant", F.lit(" to "), "left.contestant"),
            series=F.col("right.series"),
            is_comparable=~is_limit,
            left_name=F.col("left.contestant"),
            right_name=F.col("right.contestant"),
        )
    )


def option_pairs(metrics: DataFrame) -> DataFrame:
    """Return pairs of each value of an option with the default, in the same run and with all other options the same;
    not of limits."""
    rules = F.array(
        *(F.struct(*(F.lit(getattr(rule, name)).alias(name) for name in _RULE_NAMES)) for rule in OPTION_RULES)
    )
    ruled = (
        metrics.filter(F.col("kind") != _LIMIT)
        .withColumn("rule", F.explode(rules))
        .withColumn("option", F.col("options")[F.col("rule.parameter")])
        .filter(F.col("option").isNotNull())
        .withColumn("rest", options_text(F.map_filter("options", lambda name, _: name != F.col("rule.parameter"))))
    )
    is_baseline = F.col("option") == F.col("rule.baseline")
    left, right = _side(ruled.filter(is_baseline), "left"), _side(ruled.filter(~is_baseline), "right")
    joined = left.join(
        right,
        _same("run", "contestant", "rest", "metric")
        & (F.col("left.rule") == F.col("right.rule"))
        & F.col("left.clients").eqNullSafe(F.col("right.clients")),
    )
    rest = F.concat_ws(", ", F.col("right.contestant"), F.when(F.col("right.rest") != "", F.col("right.rest")))
    return joined.select(
        *_pair(
            kind=F.lit(OPTION),
            subject=F.replace(F.col("right.rule.subject"), F.lit("{value}"), F.col("right.option")),
            series=rest,
            is_comparable=F.lit(True),
            left_name=F.col("left.option"),
            right_name=F.col("right.option"),
        )
    )


def joined_pairs(metrics: DataFrame) -> DataFrame:
    """Return pairs of two queue managers with one, whatever their channels are, of one with copies with one without,
    and of shared queues with private ones; in the same run and under the same load."""
    ours = metrics.filter(F.col("kind") == _OSTLER).withColumn(
        "rest", options_text(F.map_filter("options", lambda name, _: ~name.isin(*CHANNEL_OPTIONS)))
    )
    is_one = F.col("contestant").isin(ONE_QUEUE_MANAGER, WITHOUT_COPIES, PRIVATE_QUEUES)
    left, right = _side(ours.filter(is_one), "left"), _side(ours.filter(~is_one), "right")
    joined = left.join(
        right,
        _same("run", "message_bytes", "persistent", "rest", "metric")
        & F.col("left.clients").eqNullSafe(F.col("right.clients")),
    )
    return joined.select(
        *_pair(
            kind=F.lit(OPTION),
            subject=F.when(F.col("left.contestant") == WITHOUT_COPIES, "copies to none")
            .when(F.col("left.contestant") == PRIVATE_QUEUES, "shared queues to private ones")
            .otherwise("two queue managers to one"),
            series=F.concat_ws(", ", "right.contestant", F.when(F.col("right.series") != "", F.col("right.series"))),
            is_comparable=F.lit(True),
            left_name=F.col("left.contestant"),
            right_name=F.col("right.contestant"),
        )
    )


def instance_pairs(metrics: DataFrame) -> DataFrame:
    """Return pairs of followers with their leader, by processor time, without a verdict: it is a share."""
    ours = metrics.filter(F.col("kind") == _OSTLER)
    left, right = (
        _side(ours.filter(F.col("metric") == name), side)
        for side, name in (("left", LEADER_TIME), ("right", FOLLOWER_TIME))
    )
    joined = left.join(
        right,
        _same("run", "contestant", "series", "message_bytes")
        & F.col("left.clients").eqNullSafe(F.col("right.clients")),
    )
    return joined.select(
        *_pair(
            kind=F.lit(OPTION),
            subject=F.lit("followers to leader"),
            series=F.concat_ws(", ", "right.contestant", F.when(F.col("right.series") != "", F.col("right.series"))),
            metric=F.lit(PROCESSOR_TIME),
            is_comparable=F.lit(False),
            left_name=F.lit("leader"),
            right_name=F.lit("followers"),
        )
    )


_RULE_NAMES: Final = ("parameter", "baseline", "subject")


def _side(metrics: DataFrame, name: str) -> DataFrame:
    """Return a side of a join, with all its columns in a struct of this name."""
    columns = [each for each in metrics.columns if each in (*METRIC_COLUMNS, "rule", "option", "rest")]
    return metrics.select(F.struct(*columns).alias(name))


def _same(*names: str) -> Column:
    return reduce(lambda one, other: one & other, (F.col(f"left.{name}") == F.col(f"right.{name}") for name in names))


def _are_clients_alike() -> Column:
    """Return whether both contestants have a driver of one kind; both are one or two brokers; and both have copies or
    none."""
    are_two = F.col("left.contestant").isin(*TWO_NODES)
    are_copied = reduce(
        lambda one, other: one | other, (F.startswith("left.contestant", F.lit(name)) for name in COPIED_PEERS)
    )
    are_alike = F.col("left.driver") == F.col("right.driver")
    is_other = (are_two & (F.col("right.contestant") == ONE_QUEUE_MANAGER)) | (
        are_copied & (F.col("right.contestant") == WITHOUT_COPIES)
    )
    return are_alike & ~is_other


def _pair(**given: Column) -> list[Column]:
    """Return the columns of a pair: the given ones, and those that follow from the sides."""
    follows = {
        "scenario": F.col("left.scenario"),
        "clients": F.col("right.clients"),
        "metric": F.col("right.metric"),
        "more_is_better": F.col("right.more_is_better"),
        "left_run": F.col("left.run"),
        "right_run": F.col("right.run"),
        "left_values": F.col("left.values"),
        "right_values": F.col("right.values"),
        "noise_percent": F.greatest("left.noise_percent", "right.noise_percent"),
        **{f"{side}_{name}": F.col(f"{side}.{name}") for side in ("left", "right") for name in ("driver", "promise")},
    }
    return [{**follows, **given}[name].alias(name) for name in PAIR_COLUMNS]
