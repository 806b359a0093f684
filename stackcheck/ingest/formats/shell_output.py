"""What shell commands print, by command: `systemctl is-active X`, `uname -m`, `echo $X`, `lsmod | grep -c X`, `ls DIR`."""

from __future__ import annotations

import re
from collections.abc import Callable

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.env import set_variable
from stackcheck.ingest.formats.kernel_log import without_names
from stackcheck.ingest.formats.python_output import python_print
from stackcheck.ingest.formats.system import memlock
from stackcheck.ingest.interface import Line, normal
from stackcheck.ingest.patterns import Lazy

Handler = Callable[[Draft, re.Match[str], list[Line]], None]

_KERNEL = Lazy(r"\d{1,2}\.\d{1,3}\.\d{1,4}[\w.+~-]{0,80}\Z")
_STATES = frozenset(
    (
        "active",
        "inactive",
        "failed",
        "activating",
        "deactivating",
        "enabled",
        "disabled",
        "masked",
        "static",
        "unknown",
    )
)
# Configuration whose content a rule may ask for; other files could say who somebody is.
_CONFIGURATION = ("/etc/nccl.conf", "/etc/ld.so.conf", "/etc/modprobe.d/", "/etc/modules-load.d/", "/etc/docker/", "/etc/containerd/",
                  "/etc/nvidia", "/etc/enroot/", "/etc/slurm/", "/etc/systemd/logind.conf", "/etc/security/limits", "/sys/", "/proc/sys/")  # fmt: skip


_MODULE_FILE = normal(".ko")


def _one(lines: list[Line]) -> Line | None:
    return lines[0] if lines else None


def _uname(draft: Draft, _: re.Match[str], lines: list[Line]) -> None:
    for line in lines[:2]:
        bare = line.text.strip()
        if bare in ("x86_64", "aarch64"):
            draft.single("arch", bare, line)
        elif _KERNEL.match(bare):
            draft.component("kernel", bare, line, scope="host")
            draft.first_fact("kernel_release", bare, line)


def _service(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    names = [n.removesuffix(".service") for n in match["names"].split() if not n.startswith("-")][:16]
    for name, line in zip(names, lines, strict=False):
        state = line.text.strip().lower()
        if state in _STATES:
            draft.fact(f"service:{name}", state, line)
        elif "no such file" in state or "not be found" in state:
            no_service(draft, name, line)


def no_service(draft: Draft, name: str, line: Line) -> None:
    """A unit that does not exist means that the component it belongs to is not installed."""
    draft.fact(f"service:{name}", "not-found", line)
    component = draft.context.component(name)
    if component:
        draft.absent(component, line)


def _module_count(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    line = _one(lines)
    if line and line.text.strip().isdigit():
        draft.fact(f"module:{match['name']}", line.text.strip() != "0", line)


def _modules(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    """Record the modules shown; one that the filter of the command would have let through is not loaded."""
    sought = [w for w in re.split(r"[\\|\s]+", match["names"] or "") if re.fullmatch(r"\w{3,60}", w)]
    shown = set()
    for line in lines:
        row = re.match(r"(?P<name>\w{1,60})\s{1,40}\d{1,12}\s{1,20}\d{1,6}(?:\s|\Z)", line.text.strip())
        if row:
            shown.add(row["name"])
            draft.fact(f"module:{row['name']}", True, line)
    if len(shown) < len([line for line in lines if line.text.strip()]):
        return
    files = (name for name in draft.context.aliases if name.endswith(_MODULE_FILE))
    known = {name.removesuffix(_MODULE_FILE).replace("-", "_") for name in files}
    passed = {k for k in known if any(w in k for w in sought)}
    missed = {w for w in sought if not any(w in name for name in shown | passed)}
    for name in sorted(missed | passed - shown):
        draft.fact(f"module:{name}", False, draft.source.command_line)


def _module_component(draft: Draft, module: str) -> str | None:
    """Return the component of a kernel module: aliases name its file."""
    return draft.context.component(f"{module}.ko") or draft.context.component(module)


def _modinfo(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    module = match["name"].replace("-", "_")
    component = _module_component(draft, module)
    version, flavour, at = "", "", None
    for line in lines:
        bare = re.match(
            r"(version|license|vermagic|srcversion|filename|description|alias|depends|firmware|author|supported):\s{1,40}(\S.{0,200})",
            line.text.strip(),
        )
        if bare is None:
            if "not found" in line.text:
                draft.fact(f"module:{module}", False, line)
            continue
        draft.source.claim(line.number)
        if bare[1] == "version":
            version, at = bare[2].strip(), line
        elif bare[1] == "license":
            flavour, at = ("open" if "GPL" in bare[2] else "proprietary"), at or line
    if at is None:
        return
    if component:
        draft.component(
            component,
            version,
            at,
            scope="host",
            attributes={"flavour": flavour} if flavour and component == "driver" else {},
        )
        if flavour and component == "driver":
            draft.fact("driver_flavour", flavour, at)
    elif version:
        draft.fact(f"module:{module}", version, at)


def _cat(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    path = match["path"]
    line = _one(lines)
    if line is None or "No such file" in line.text:
        return
    value = line.text.strip()
    if parameter := re.fullmatch(r"/sys/module/(\w{1,60})/parameters/(\w{1,60})", path):
        draft.fact(f"param:{parameter[1]}.{parameter[2]}", value, line)
        draft.first_fact(f"module:{parameter[1]}", True, line)
    elif module := re.fullmatch(r"/sys/module/(\w{1,60})/version", path):
        component = _module_component(draft, module[1])
        if component:
            draft.component(component, value, line, scope="host", loaded=True)
        draft.fact(f"module:{module[1]}", value, line)
    elif path == "/proc/cmdline":
        draft.fact("kernel_command_line", without_names(value), line)
    elif path.startswith(_CONFIGURATION) and "NVRM" not in value:
        draft.shared = True  # assignments in it are read as such
        draft.fact(f"file:{path[:200]}", "; ".join(x.text.strip() for x in lines[:8]), line)
        draft.shared = False


def _echo(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    """`echo $X`, `echo "[$X]"`: the words around the variable are taken off."""
    value = lines[0].text.strip() if lines else ""
    before, after = match["before"].strip("\"'"), match["after"].strip("\"'")
    if lines and value.startswith(before) and value.endswith(after):
        value = value[len(before) : len(value) - len(after) if after else None]
    set_variable(draft, match["name"], value, lines[0] if lines else draft.source.command_line)


def _env_count(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    if lines and lines[0].text.strip() == "0":
        draft.environment(match["name"], "", lines[0])


def _ulimit(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    line = _one(lines)
    value = line.text.strip() if line else ""
    if line is None or not (value == "unlimited" or (value.isdigit() and len(value) < 20)):
        return
    if match["flag"] == "l":
        memlock(draft, value, line)
    elif match["flag"] == "n":
        draft.fact("limit:nofile", value if value == "unlimited" else int(value), line)
    elif match["flag"] == "s":
        draft.fact("limit:stack", value if value == "unlimited" else int(value), line)


def _gpu_count(draft: Draft, _: re.Match[str], lines: list[Line]) -> None:
    if lines and lines[0].text.strip().isdigit() and len(lines[0].text.strip()) < 5:
        draft.gpu(None, lines[0], int(lines[0].text))


def _interfaces(draft: Draft, _: re.Match[str], lines: list[Line]) -> None:
    for line in lines:
        row = re.match(r"([\w.-]{1,40})(?:@[\w.-]{1,40})?\s{1,20}(UP|DOWN|UNKNOWN)\b", line.text.strip())
        if row:
            draft.add("interfaces", row[1], line)


def _which(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    if lines and lines[0].text.strip().startswith("/"):
        draft.fact(f"{match['name'].replace('-', '_')}_path", lines[0].text.strip(), lines[0])


def _list(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    """Names in a directory of the kind that tells what is installed."""
    directory = match["directory"].rstrip("/")
    for line in lines[:200]:
        text = line.text.strip()
        if "cannot access" in text or text.startswith("total "):
            continue
        if row := _LONG_ROW.match(text):
            name = row["name"]
            if name not in (".", ".."):
                draft.fact(path_fact(name if name.startswith("/") else f"{directory}/{name}"), True, line)
        elif ":" in text:
            break
        elif directory.startswith(("/opt", "/dev", "/usr/local")) and "*" not in directory:
            for name in text.split()[:24]:
                if re.fullmatch(r"[\w.-]{1,80}", name) and not re.match(r"lib\S+\.so", name):
                    draft.fact(path_fact(f"{directory}/{name}"), True, line)


def _devices(draft: Draft, _: re.Match[str], lines: list[Line]) -> None:
    for line in lines:
        if row := re.fullmatch(r"\s{0,4}\d{1,4} ([\w-]{1,60})\s*", line.text):
            draft.fact(f"module:{row[1].replace('-', '_')}", True, line)


def _python(draft: Draft, _: re.Match[str], lines: list[Line]) -> None:
    python_print(draft, draft.source.command, lines)


def _version(draft: Draft, match: re.Match[str], lines: list[Line]) -> None:
    """The version that a program prints without its name."""
    component = draft.context.component(match["name"])
    for line in lines[:6]:
        bare = re.fullmatch(
            r"""(?:["']?[Vv]ersion["']?\s{0,4}[:=]\s{0,4})?["']?v?(\d{1,4}\.\d{1,4}[\w.+-]{0,40})["']?,?""",
            line.text.strip(),
        )
        if component and bare:
            draft.component(component, bare[1], line, scope="host")
            return


def path_fact(path: str) -> str:
    """Return the name of the fact whether a path exists."""
    return f"{'device' if path.startswith('/dev/') else 'file'}:{path[:200]}"


_LONG_ROW = Lazy(
    r"[bcdlps-][rwxsStT-]{9}[.+@]?\s+\d{1,6}\s.{0,120}?\d{1,2}:?\d\d\s(?P<name>\S{1,200})(?: -> .*)?\Z"
)
_COMMANDS: tuple[tuple[Lazy, Handler], ...] = tuple(
    (Lazy(pattern), handler)
    for pattern, handler in (
        (r"\buname\b", _uname),
        (r"\bsystemctl (?:is-active|is-enabled|is-failed) (?P<names>[\w@. -]{1,300})", _service),
        (r"\blsmod\b.{0,40}grep -c ['\"]?(?P<name>\w{1,60})", _module_count),
        (r"\blsmod\b(?:.{0,40}grep (?:-[A-Zac-uw-z]{1,4} ){0,3}['\"]?(?P<names>[\w|\\]{1,120}))?", _modules),
        (r"\bmodinfo (?:-\w \w+ )?(?P<name>[\w-]{1,60})", _modinfo),
        (r"\bgrep \S{1,60} /proc/devices", _devices),
        (r"\bcat (?P<path>/[\w./-]{1,200})\s*(?:\||\Z)", _cat),
        (r"\becho (?P<before>[^$|&;]{0,20})\$\{?(?P<name>[A-Z][A-Z0-9_]{1,79})\}?(?P<after>[^$|&;]{0,20})\s*\Z", _echo),
        (r"\bprintenv (?P<before>)(?P<name>[A-Z][A-Z0-9_]{1,79})(?P<after>)\s*\Z", _echo),
        (r"\benv \| ?grep -c ['\"]?\^?(?P<name>[A-Z][A-Z0-9_]{1,79})\b", _env_count),
        (r"\bulimit -(?:[HS] ?-?)?(?P<flag>[lns])\s*\Z", _ulimit),
        (r"\bnvidia-smi (?:-L|--list-gpus) ?\| ?wc -l", _gpu_count),
        (r"\bip -(?:br|brief) (?:addr|link|a|l)", _interfaces),
        (r"\b(?P<name>enroot|dcgmi|pcluster) (?:--version|-v|version)\b", _version),
        (r"\bwhich (?P<name>[\w-]{1,40})", _which),
        (r"\bls (?:-\w{1,12} ){0,4}(?P<directory>/[\w./*-]{1,200})", _list),
        (r"\bpython3?[\d.]{0,5} -c |^>>> ", _python),
    )
)  # fmt: skip


def command_output(draft: Draft, command: str, lines: list[Line]) -> None:
    """Record what the lines say as the output of `command`."""
    for pattern, handle in _COMMANDS:
        if match := pattern.search(command[:1000]):
            handle(draft, match, lines)
            return
