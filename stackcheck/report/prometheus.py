"""Prometheus text format, for the textfile collector of the node exporter.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/. Gauges without timestamps, as the collector demands; a label set
occurs once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackcheck.model.finding import Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import visible

_LONGEST_LABEL = 200
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})

Sample = tuple[dict[str, str], int]


def render(report: Report, options: Options) -> str:
    """Return the metrics."""
    lines = [
        *_gauge(
            "stackcheck_findings",
            "Findings of the last check that nobody accepted.",
            (({"severity": str(s)}, report.count(s)) for s in Severity),
        ),
        *_gauge("stackcheck_findings_accepted", "Findings that were accepted.", [({}, len(report.accepted))]),
        *_gauge(
            "stackcheck_doubt",
            "1 if no findings would not mean that all is well.",
            [({}, int(bool(report.doubt)))],
        ),
        *_gauge("stackcheck_finding_info", "One series per finding of the last check.", _findings(report)),
        *_gauge("stackcheck_component_info", "One series per component version seen.", _components(report)),
    ]
    if options.tool_version or options.data_version:
        made = {"version": options.tool_version, "data": options.data_version}
        lines += _gauge("stackcheck_build_info", "Version of stackcheck and of its matrices.", [(made, 1)])
    return "\n".join(lines) + "\n"


def _findings(report: Report) -> Iterator[Sample]:
    """Yield one series per finding; no title, as each value in it (a count, a version) would begin another series."""
    for f in report.findings:
        yield (
            {
                "id": f.id,
                "kind": str(f.kind),
                "severity": str(f.severity),
                "subject": ",".join(f.subjects),
            },
            1,
        )


def _components(report: Report) -> Iterator[Sample]:
    for component, observations in sorted(report.inventory.components.items()):
        for seen in observations:
            yield {"component": component, "version": seen.version, "scope": seen.scope}, 1


def _gauge(name: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    lines = []
    for labels, value in samples:
        inside = ",".join(f'{label}="{_value(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value}" if inside else f"{name} {value}")
    yield from dict.fromkeys(lines)


def _value(text: str) -> str:
    return visible(text, _LONGEST_LABEL).translate(_ESCAPES)
