"""Environment variables: `env`, `export` lines, /proc/PID/environ, /etc/environment, sbatch and shell scripts, unit files.

Only a whole line that is an assignment counts. A variable that prose mentions ("try NCCL_P2P_DISABLE=1") is no setting.
Names that hold secrets or say who somebody is are not kept.
"""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_ASSIGNMENT = Lazy(
    r"\s{0,16}(?:- )?(?P<lead>export |declare -x |typeset -x |set -gx |setenv |ENV |ARG |-e |--env |-x |Environment=|[A-Za-z][\w-]{0,30}:? )?"
    r"['\"]?(?P<name>[A-Z][A-Z0-9_]{1,79})['\"]?(?P<sign>=|\s)(?P<value>.*)\Z",
    re.DOTALL,
)
_SPACED = ("setenv ", "ENV ", "set -gx ")
_SECRET = Lazy(
    r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE|_AUTH|COOKIE|SESSION|SIGNATURE|WEBHOOK"
)
_PERSONAL = frozenset((
    "DISPLAY", "EDITOR", "EMAIL", "HOME", "HOST", "HOSTNAME", "LOGNAME", "LS_COLORS", "MAIL", "OLDPWD", "PS1",
    "PS2", "PWD", "SHELL", "SHLVL", "TERM", "USER", "USERNAME", "XAUTHORITY",
))  # fmt: skip
_OS_RELEASE = frozenset(  # keys of /etc/os-release, which look like variables
    ("NAME", "VERSION", "ID", "ID_LIKE", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME", "PLATFORM_ID", "ANSI_COLOR", "CPE_NAME",
     "HOME_URL", "SUPPORT_URL", "BUG_REPORT_URL", "PRIVACY_POLICY_URL", "UBUNTU_CODENAME", "LOGO", "BUILD_ID", "VARIANT_ID", "VARIANT")
)  # fmt: skip
_PERSONAL_PREFIX = (
    "SSH_",
    "XDG_",
    "GIT_",
    "SUDO_",
    "DBUS_",
    "AWS_ACCESS",
    "AWS_SECRET",
    "KUBERNETES_SERVICE_",
)


def sniff(text: str) -> float:
    """Look for a line that is an assignment."""
    lines = (line for line in text.split("\n") if "=" in line or line.lstrip().startswith(_SPACED))
    return 0.6 if any(assignment(line) for line in lines) else 0.0


def read(draft: Draft) -> None:
    """Record the variables set, and the versions that container images tell in variables."""
    for line in draft.source.open():
        if "=" in line.text or line.text.lstrip().startswith(_SPACED):
            found = assignment(line.text)
            if found:
                set_variable(draft, found[0], found[1], line)


def assignment(text: str) -> tuple[str, str] | None:
    """Return name and value if the whole line sets one variable, else None."""
    match = _ASSIGNMENT.match(text)
    if match is None:
        return None
    lead, value = match["lead"] or "", match["value"].strip()
    if match["sign"] != "=" and lead not in _SPACED:
        return None
    if match["sign"] == "=" and value[:1] == "=":
        return None
    if lead[:-1].rstrip(":").isalpha() and lead not in _SPACED and lead != "export ":
        # one word before it ("container CUDA_VERSION=12.9.1"): prose, unless nothing follows
        if " " in value or lead.strip().lower() in (
            "set",
            "try",
            "with",
            "using",
            "use",
            "unset",
            "pass",
            "passing",
            "setting",
        ):
            return None
    elif " " in value and value[:1] not in "'\"" and match["sign"] == "=" and _is_command(value):
        return None
    return match["name"], _unquoted(value)


def _is_command(value: str) -> bool:
    """Whether `VALUE rest` is an assignment before a command or in a sentence rather than a value with blanks."""
    second = value.split(" ", 1)[1].split(" ", 1)[0]
    return bool(
        re.match(
            r"[A-Z][A-Z0-9_]{1,79}=|(?:python3?|torchrun|srun|mpirun|bash|vllm|accelerate|deepspeed|it|is|and|to|in|for|helps?|works?|fixes)\b",
            second,
        )
    )


def _unquoted(value: str) -> str:
    value = value.rstrip(" \\").rstrip(";")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    if value and value[0] in "'\"" and value.count(value[0]) == 2:
        return value[1 : value.index(value[0], 1)]
    head, blank_hash, _ = value.partition(" #")
    return head.rstrip() if blank_hash else value


def set_variable(draft: Draft, name: str, value: str, line: Line) -> None:
    """Record a variable unless it is private, and the component version it may tell."""
    draft.source.claim(line.number)
    if is_private(name):
        return
    draft.environment(name, value, line)
    version_variable(draft, name, value, line)


def is_private(name: str) -> bool:
    """Whether a variable holds a secret, says who somebody is, or is none."""
    return (
        name in _PERSONAL
        or name in _OS_RELEASE
        or name.startswith(_PERSONAL_PREFIX)
        or _SECRET.search(name) is not None
    )


_VERSION_NAME = Lazy(r"(?:NV_)?(?P<name>[A-Z][A-Z0-9_]{0,60}?)_(?:PACKAGE_|BUILD_)?VERSION\Z")
_VERSION_VALUE = Lazy(r"v?(\d{1,8}(?:\.\d[\w+]{0,30}){1,8}(?:[+.-][\w.+-]{1,60})?)\Z")
_DRIVER_OF_IMAGE = (
    "CUDA_DRIVER_VERSION"  # NGC images: the driver whose user-space part is their cuda-compat package
)


def version_variable(draft: Draft, name: str, value: str, line: Line, *, scope: str = "") -> bool:
    """Add the component whose version a variable such as NCCL_VERSION tells; return whether it does."""
    match = _VERSION_NAME.match(name)
    number = _VERSION_VALUE.match(value)
    if match is None or number is None:
        return False
    component = "cuda-compat" if name == _DRIVER_OF_IMAGE else draft.context.component(match["name"])
    if component is None:
        return False
    draft.component(component, number[1], line, scope=scope, attributes={"variable": name})
    return True
