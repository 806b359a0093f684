"""It changes nothing, starts nothing outside its list, imports nothing that a bare Python has not."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from stackcheck_probes.commands import COMMANDS, DIRECTORIES
from stackcheck_probes.host import live_host
from stackcheck_probes.registry import PROBES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "probes/stackcheck_probes"
NODES = ROOT / "tests/nodes"

# Run in a child, as audit hooks cannot be taken off again: https://docs.python.org/3/library/audit_events.html
WATCH = """
import json, os, sys
log = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND)
class Seen(list):
    def __init__(self, kind):
        self.kind = kind
    def append(self, what):
        os.write(log, json.dumps([self.kind, what]).encode() + b"\\n")
seen = {kind: Seen(kind) for kind in ("written", "started", "connected")}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "shutil.rmtree", "os.utime", "os.mkfifo", "os.mknod")
def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(flags, int) and flags & WRITING:
            seen["written"].append(str(path))
    elif event in CHANGING:
        seen["written"].append(event + str(arguments))
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "pty.spawn"):
        seen["started"].append([str(part) for part in arguments[1]] if event == "subprocess.Popen" else [event])
    elif event.startswith("socket.") or event in ("urllib.Request", "http.client.connect"):
        seen["connected"].append(event)
sys.path.insert(0, sys.argv[1])
sys.addaudithook(watch)
from stackcheck_probes.inventory import collect
collect(root=sys.argv[2])
"""


def watched(root: str) -> dict[str, list[list[str]]]:
    """Return what a whole probe of ``root`` wrote, started and connected to."""
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run(
            [sys.executable, "-c", WATCH, str(PACKAGE.parent), root, log.name], env=environ, check=True
        )
        seen: dict[str, list[list[str]]] = {"written": [], "started": [], "connected": []}
        for line in log.read().splitlines():
            kind, what = json.loads(line)
            seen[kind].append(what)
    return seen


def test_a_live_probe_writes_nothing_and_stays_within_its_list() -> None:
    seen = watched("/")
    assert seen["written"] == []
    assert seen["connected"] == []
    allowed = {
        f"{directory}/{command.argv[0]}" for command in COMMANDS if command.argv for directory in DIRECTORIES
    }
    started = [argv for argv in seen["started"] if argv != ["os.fork"]]
    assert len(seen["started"]) - len(started) <= 1, "one copy of ourselves, see ahead.py"
    assert all(argv[0] in allowed or argv[:4] == [sys.executable, "-I", "-S", "-c"] for argv in started)


def test_what_it_starts_loads_nothing_that_the_environment_asked_about_names(tmp_path: Path) -> None:
    """Looked at by root, a user's process must not get a library of its choice into what root starts."""
    source, library, mark = tmp_path / "a.c", tmp_path / "evil.so", tmp_path / "mark"
    source.write_text(
        "#include <fcntl.h>\n"
        f'__attribute__((constructor)) static void run(void) {{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n'
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(library)}, check=True)
    assert mark.exists(), "the library works"
    mark.unlink()
    host = live_host({"LD_PRELOAD": str(library), "PATH": "/usr/bin"})
    assert host.environ["LD_PRELOAD"] == str(library)
    host.run("nvml", 20.0)
    assert not mark.exists()


def test_a_tree_starts_no_process_at_all() -> None:
    seen = watched(str(NODES / "p5.48xlarge"))
    assert seen == {"written": [], "started": [], "connected": []}


def test_the_standard_library_is_enough() -> None:
    text = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\nimport json\nfrom stackcheck_probes.inventory import collect\n"
    text += f"collect(root={str(NODES / 'p5.48xlarge')!r})\nprint(json.dumps(sorted(m for m in sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=True
    )
    modules = {name.split(".")[0] for name in json.loads(output.stdout)}
    assert modules - set(sys.stdlib_module_names) - {"stackcheck_probes", "__main__"} <= {
        name for name in modules if name.startswith("_")
    }
    assert "torch" not in modules


def test_only_two_modules_start_processes() -> None:
    users = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {"subprocess", "socket", "urllib.request", "multiprocessing"} & set(names):
                users.add(path.name)
            if isinstance(node, ast.Attribute) and node.attr in (
                "system",
                "popen",
                "execv",
                "fork",
                "posix_spawn",
            ):
                users.add(path.name)
    assert users == {"commands.py", "ahead.py"}


def test_probes_read_through_their_doors_alone() -> None:
    for path in (PACKAGE / "probes").glob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        assert not imported & {"pathlib", "io", "glob", "shutil", "ctypes"}, path.name
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"open", "eval", "exec", "compile"}, path.name


def test_every_module_of_probes_is_in_the_registry() -> None:
    used = {probe.run.__module__.rpartition(".")[2] for probe in PROBES}
    assert used == {path.stem for path in (PACKAGE / "probes").glob("*.py")} - {"__init__"}


def test_probe_names_are_unique_and_told() -> None:
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names)
    readme = (PACKAGE.parent / "README.md").read_text()
    assert all(probe.title for probe in PROBES)
    assert [name for name in names if f"`{name}`" not in readme] == []
