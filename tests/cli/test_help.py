"""Help, start-up, completion, and the examples of the README."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackcheck.cli.parser import parser_for
from stackcheck.cli.registry import COMMANDS
from tests.cli.conftest import ROOT, Call, clean_environment

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
HEAVY = {
    "networkx",
    "jsonschema",
    "httpx",
    "textual",
    "packaging",
    "shtab",
    "stackcheck.solver",
    "stackcheck.check",
}
NOT_FOR_HELP = {"dataclasses", "typing", "json", "pathlib", "stackcheck.catalog"}
"""`matrices` has a parser per action and may need these."""


@each_command
def test_every_command_has_help_with_its_exit_codes(call: Call, command) -> None:  # type: ignore[no-untyped-def]
    outcome = call(command.name, "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"usage: stackcheck {command.name}")
    assert "exit codes:" in outcome.out
    assert outcome.err == ""


def test_the_help_lists_every_command_with_a_line(call: Call) -> None:
    outcome = call("--help")
    assert outcome.code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command.name} +{re.escape(command.help)}$", outcome.out, re.MULTILINE)


@pytest.mark.parametrize("kind", ["gpu", "instance", "component", "image", "advisory"])
def test_every_kind_of_show_has_help(call: Call, kind: str) -> None:
    outcome = call("show", kind, "--help")
    assert outcome.code == 0
    assert "--format" in outcome.out


def test_every_flag_says_what_it_does(call: Call) -> None:
    silent = [
        f"{command.name} {action.option_strings or action.dest}"
        for command in COMMANDS
        for action in parser_for(command)._actions
        if not action.help and action.dest != "format" and not hasattr(action, "_name_parser_map")
    ]
    assert silent == []


@each_command
def test_help_loads_nothing_heavy(command) -> None:  # type: ignore[no-untyped-def]
    code = (
        "import sys; before = set(sys.modules); from stackcheck.cli import main; "
        f"main(['{command.name}', '--help']); print(*sorted(set(sys.modules) - before), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    )
    loaded = set(done.stderr.split())
    assert not loaded & (HEAVY if command.name == "matrices" else HEAVY | NOT_FOR_HELP)


def test_networkx_is_loaded_by_graph_alone(tmp_path: Path) -> None:
    for arguments, expected in (
        (["resolve", "--gpu", "b200"], False),
        (["show", "component", "nccl"], False),
        (["graph"], True),
    ):
        code = (
            "import sys; from stackcheck.cli import main; "
            f"main({arguments!r}); print('networkx' in sys.modules, file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=clean_environment(),
            check=True,
            cwd=tmp_path,
        )
        assert done.stderr.strip() == str(expected), arguments


def test_the_version_is_that_of_the_package(call: Call) -> None:
    from stackcheck import __version__

    assert call("--version").out == f"stackcheck {__version__}\n"


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_commands_flags_and_names(call: Call, catalog, shell: str) -> None:  # type: ignore[no-untyped-def]
    outcome = call("completion", shell)
    assert outcome.code == 0
    for word in (*(c.name for c in COMMANDS), "framework", *catalog.gpu_ids):
        assert word in outcome.out
    if shutil.which(shell):
        judged = subprocess.run([shell, "-n"], input=outcome.out, capture_output=True, text=True, check=False)
        assert (judged.returncode, judged.stderr) == (0, "")


def test_bash_completes_names_from_the_matrices(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(call("completion", "bash").out)
    body = (
        f"source {script}; COMP_WORDS=(stackcheck resolve --gpu b2); COMP_CWORD=3; "
        "$(complete -p stackcheck | sed 's/.*-F \\([^ ]*\\).*/\\1/') stackcheck b2 --gpu; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", body], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["b200"]


# the README


def readme_lines() -> list[str]:
    """Every line of a code block of the README that runs stackcheck, without its comment and without what stands before a pipe."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    commands = (
        line.partition(" #")[0].partition(" > ")[0].rpartition("| ")[2].removeprefix("$ ").strip()
        for line in lines
    )
    return sorted({c for c in commands if c.startswith("stackcheck ")})


@pytest.mark.parametrize("line", readme_lines())
def test_every_command_of_the_readme_is_understood(line: str) -> None:
    name, *arguments = shlex.split(line)[1:]
    command = next(c for c in COMMANDS if c.name == name)
    parser_for(command).parse_args(arguments)  # ends the process if it is not


@pytest.mark.parametrize(
    "line",
    [
        c
        for c in readme_lines()
        if c.split()[1] in ("resolve", "why", "explain", "show") and "--host" not in c
    ],
)
def test_every_question_of_the_readme_has_an_answer(
    line: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call(*shlex.split(line)[1:])
    assert outcome.code in (0, 1), outcome.err
    assert outcome.out
    assert outcome.err == ""
