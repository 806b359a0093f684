"""The report as `stackcheck.report/1`, schema in matrices/schema/report.schema.json."""

from __future__ import annotations

import json

from stackcheck.model.finding import Report, report_to_json
from stackcheck.report.interface import Options


def render(report: Report, options: Options) -> str:  # noqa: ARG001 - the interface's signature
    """Return the document, indented by two spaces."""
    return json.dumps(report_to_json(report), indent=2) + "\n"
