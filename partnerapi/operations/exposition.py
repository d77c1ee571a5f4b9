"""What Prometheus reads: numbers of this machine's processes, checks, the queue."""

from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from partnerapi.core.metrics import forget_ended_processes
from partnerapi.core.version import RELEASE, version
from partnerapi.operations.diagnosis.findings import State
from partnerapi.operations.diagnosis.readiness import Readiness
from partnerapi.operations.task_metrics import Queue

BADNESS = {State.OK: 0, State.WARNING: 1, State.UNKNOWN: 1, State.FAILED: 2}


class Processes:
    """What processes have counted in a directory; live numbers of live ones only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.collector = MultiProcessCollector(None, str(directory))

    def collect(self) -> Iterator[Metric]:
        forget_ended_processes(self.directory)
        yield from self.collector.collect()


class Checks:
    """What `/readyz` finds, as this process sees it."""

    def __init__(self, readiness: Readiness) -> None:
        self.readiness = readiness

    def collect(self) -> Iterator[Metric]:
        states = GaugeMetricFamily(
            "partnerapi_check",
            "0: well, 1: needs attention or unknown, 2: failed",
            labels=["check"],
        )
        ages = GaugeMetricFamily(
            "partnerapi_job_age_seconds",
            "Seconds since a scheduled job last ran",
            labels=["job"],
        )
        # Of several acceptors, the one that is worst off.
        worst: dict[str, int] = {}
        for finding in self.readiness.now():
            badness = BADNESS[finding.state]
            worst[finding.check] = max(badness, worst.get(finding.check, 0))
            kind, _, job = finding.check.partition(" ")
            if kind == "job":
                ages.add_metric([job], finding.figures["ageSeconds"])
        for check, badness in worst.items():
            states.add_metric([check], badness)
        yield states
        yield ages


class Build:
    def collect(self) -> Iterator[Metric]:
        info = InfoMetricFamily("partnerapi_build", "The build that serve_metrics runs")
        info.add_metric([], {"version": version(), "release": RELEASE})
        yield info


def registry_of(directory: Path) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(Build())
    registry.register(Processes(directory))
    registry.register(Checks(Readiness()))
    registry.register(Queue())
    return registry
