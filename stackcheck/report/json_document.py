"""The report as `stackcheck.report/1`, schema in matrices/schema/report.schema.json."""

from __future__ import annotations

import json

from stackcheck.model.finding import Report, report_to_json
from stackcheck.report.interface import Options


def render(report: Report, options: Options) -> str:
    """Return the document, indented by two spaces; `tool` says which program and which data judged, if the caller does."""
    body = report_to_json(report)
    if options.tool_version or options.data_version:
        body["tool"] = {"name": "stackcheck", "version": options.tool_version, "data": options.data_version}
    return json.dumps(body, indent=2) + "\n"
