"""The recovery log's figures under the names the statistics use."""

from __future__ import annotations

from ostler.log.figures import LogFigures, LogStatus
from ostler.model.counters import ForceCounters


def log_counts(status: LogStatus, figures: LogFigures, forces: ForceCounters) -> dict[str, int]:
    return {
        "records": figures.records,
        "logical_bytes": figures.logical_bytes,
        "physical_bytes": figures.physical_bytes,
        "writes": figures.writes,
        "forces": figures.forces,
        "checkpoints": figures.checkpoints,
        "write_bytes_last": figures.write_bytes_last,
        "write_bytes_average": figures.write_bytes_average,
        "force_total_us": forces.total_us,
        "force_max_us": forces.max_us,
        "force_last_us": forces.last_us,
        "primary_space_in_use_percent": status.in_use_percent,
        "utilisation_percent": status.utilisation_percent,
        "restart_bytes": status.restart_bytes,
    }
