"""`stackcheck resolve`: from a GPU or instance type to a pinned, explained stack."""

from __future__ import annotations

import argparse

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_target
from stackcheck.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.model.stack import Stack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of resolve."""
    add_target(parser)
    output.add_format(parser)
    parser.add_argument(
        "--export",
        action="append",
        default=[],
        metavar="FORMAT[=PATH]",
        help="also write the stack as constraints, dockerfile, slurm ... (docs/reference.md)",
    )
    parser.add_argument("-o", "--output", metavar="LOCK", help="write the lock (JSON) here; - is stdout")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="every reason, every held-back release, every source"
    )


def run(options: argparse.Namespace) -> int:
    """Resolve, print, export."""
    if options.output == streams.STANDARD_OUTPUT:
        options.export.append("lock")
        options.output = None
    if options.format == "json" and any(spec.partition("=")[2] in ("", "-") for spec in options.export):
        raise UsageError(
            "--format json and an export to stdout exclude each other",
            fix="give the export a file: --export NAME=FILE",
        )
    from stackcheck.cli.data import open_data
    from stackcheck.cli.request import request_from
    from stackcheck.solver.resolve import resolve

    catalog = open_data(options.matrices)
    stack = resolve(catalog, request_from(options, catalog))
    exports = [_export(spec, stack) for spec in options.export] if stack.solved else []
    if options.output and stack.solved:
        from stackcheck.export.registry import export

        _write(options.output, export("lock", stack), "lock")
    for spec, (path, text) in zip(options.export, exports, strict=False):
        if path:
            _write(path, text, spec.partition("=")[0])
    to_stdout = [text for path, text in exports if not path]
    if to_stdout:
        streams.answer("\n".join(to_stdout))
    else:
        deliver_stack(stack, options, verbose=options.verbose)
    return streams.OK if stack.solved else streams.FINDINGS


def _write(path: str, text: str, what: str) -> None:
    """Write a file, and tell a person at a terminal that it is there."""
    streams.write_file(path, text)
    streams.tell(f"wrote {path} ({what})")


def deliver_stack(stack: Stack, options: argparse.Namespace, *, verbose: bool = False) -> None:
    """Write a stack or a conflict in the format asked for."""

    def text() -> str:
        from stackcheck.report.stack_text import render_stack

        return render_stack(stack, **output.looks(), verbose=verbose)

    def body() -> object:
        from stackcheck.model.stack_json import stack_to_json

        return stack_to_json(stack)

    output.deliver(options, text, body)


def _export(spec: str, stack: Stack) -> tuple[str, str]:
    """Return path (empty for stdout) and text of one `--export FORMAT[=PATH]`."""
    from stackcheck.export.registry import export, exporter

    name, equals, path = spec.partition("=")
    text = export(name, stack)
    if doubt := exporter(name).doubt(stack):
        streams.remark(f"--export {name}: {doubt}")
    return (path if equals and path != streams.STANDARD_OUTPUT else "", text)
