"""What each system is given so that one of our programs stands by itself: the text of a unit, a property list, a task.

Pure: a `Standing` goes in, text comes out. No secret is ever in it: services read those from the `environment` file in
the home. What runs agents is hardened less than what does not, and says so where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WRITTEN_BY = "Written by `clearway service install`; `clearway service remove` takes it away again."
SYSTEMD, LAUNCHD, WINDOWS, WSL = "systemd", "launchd", "windows", "wsl"
PLATFORMS = (SYSTEMD, LAUNCHD, WINDOWS, WSL)
LABEL = "dev.clearway"
FOLDER = "Clearway"  # of Windows' task scheduler
AGAIN_SECONDS = 10  # between an end and the next start
STOP_SECONDS = 30  # an attempt's checkpoint is written within this


@dataclass(frozen=True)
class Standing:
    """One program that is to stand by itself. name: with what tells it from others of its kind, such as `host` or
    `worker-codex-01HZX3`. runs_agents: programs of other people are its children."""

    name: str
    about: str
    program: str
    words: tuple[str, ...]
    folder: str
    home: str
    runs_agents: bool = False
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def unit(self) -> str:
        return f"clearway-{self.name}"


@dataclass(frozen=True)
class Distribution:
    """Which Linux of a Windows machine, and who in it."""

    name: str
    user: str


def systemd(standing: Standing) -> str:
    """A unit of the user's own manager. It has no right to set up namespaces on every system, so only what the kernel
    grants everybody is asked for; a service that could not start would protect nothing."""
    command = " ".join(_unit_word(word) for word in (standing.program, *standing.words))
    # What starts other people's programs may not forbid them the sandboxes that they build for themselves.
    shut = [] if standing.runs_agents else _SHUT
    lines = [
        f"# {WRITTEN_BY}",
        "[Unit]",
        f"Description=Clearway: {_unit_path(standing.about)}",
        "StartLimitIntervalSec=600",
        "StartLimitBurst=20",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={command}",
        f"WorkingDirectory={_unit_path(standing.folder)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in standing.variables.items()),
        "Restart=always",
        f"RestartSec={AGAIN_SECONDS}",
        "RestartPreventExitStatus=2",  # what it was told makes no sense: it will not the next time either
        "KillMode=control-group",
        f"TimeoutStopSec={STOP_SECONDS}",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "LockPersonality=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "SystemCallArchitectures=native",
        *shut,
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


_SHUT = [
    "MemoryDenyWriteExecute=yes",
    "RestrictNamespaces=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
    "MemoryMax=1G",
    "TasksMax=256",
]


def launchd(standing: Standing) -> str:
    """A property list for launchd, loaded into the session of the user who is logged in."""
    words = "".join(f"\n    <string>{escape(word)}</string>" for word in (standing.program, *standing.words))
    variables = "".join(
        f"\n    <key>{escape(name)}</key>\n    <string>{escape(value)}</string>"
        for name, value in standing.variables.items()
    )
    environment = f"  <key>EnvironmentVariables</key>\n  <dict>{variables}\n  </dict>\n" if variables else ""
    log = escape(f"{standing.home}/run/{standing.unit}.log")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<!-- {WRITTEN_BY} -->\n"
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        '<plist version="1.0">\n<dict>\n'
        f"  <key>Label</key>\n  <string>{LABEL}.{escape(standing.name)}</string>\n"
        f"  <key>ProgramArguments</key>\n  <array>{words}\n  </array>\n"
        f"{environment}"
        f"  <key>WorkingDirectory</key>\n  <string>{escape(standing.folder)}</string>\n"
        "  <key>RunAtLoad</key>\n  <true/>\n"
        "  <key>KeepAlive</key>\n  <true/>\n"
        f"  <key>ThrottleInterval</key>\n  <integer>{AGAIN_SECONDS}</integer>\n"
        f"  <key>ExitTimeOut</key>\n  <integer>{STOP_SECONDS}</integer>\n"
        "  <key>AbandonProcessGroup</key>\n  <false/>\n"
        "  <key>ProcessType</key>\n  <string>Background</string>\n"
        "  <key>Umask</key>\n  <integer>63</integer>\n"
        f"  <key>StandardOutPath</key>\n  <string>{log}</string>\n"
        f"  <key>StandardErrorPath</key>\n  <string>{log}</string>\n"
        "</dict>\n</plist>\n"
    )


def windows(standing: Standing, user: str) -> str:
    """A task of the scheduler, begun when this user logs on, with no more rights than the user has."""
    return _task(standing.name, standing.about, user, standing.program, standing.words, standing.folder)


def wsl(standing: Standing, user: str, distribution: Distribution) -> str:
    """A task of the Windows around a Linux without systemd. As long as the program runs, Linux does."""
    words = ("-d", distribution.name, "-u", distribution.user, "--cd", standing.folder, "--exec")
    command = (*words, standing.program, *standing.words)
    return _task(f"{standing.name}-{distribution.name}", standing.about, user, "wsl.exe", command, "")


def keep_alive(user: str, distribution: Distribution) -> str:
    """The same around a Linux with systemd, whose own units run while anything of it does: this is that thing."""
    words = ("-d", distribution.name, "-u", distribution.user, "--exec", "/bin/sleep", "infinity")
    about = f"keeps {distribution.name} running, and with it its services"
    return _task(keep_alive_name(distribution), about, user, "wsl.exe", words, "")


def keep_alive_name(distribution: Distribution) -> str:
    return f"keep-alive-{distribution.name}"


def task_path(name: str) -> str:
    """Where a task stands in the scheduler."""
    return f"\\{FOLDER}\\{name}"


def _task(name: str, about: str, user: str, program: str, words: tuple[str, ...], folder: str) -> str:
    where = f"\n      <WorkingDirectory>{escape(folder)}</WorkingDirectory>" if folder else ""
    return f"""<?xml version="1.0" encoding="UTF-16"?>
<!-- {WRITTEN_BY} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Clearway: {escape(about)}</Description>
    <URI>{escape(task_path(name))}</URI>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{escape(user)}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{escape(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <Hidden>true</Hidden>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{escape(program)}</Command>
      <Arguments>{escape(" ".join(_windows_word(word) for word in words))}</Arguments>{where}
    </Exec>
  </Actions>
</Task>
"""


def _unit_word(word: str) -> str:
    """One word of a unit's command line, where `$` means something even between quotes."""
    return _quoted(word.replace("$", "$$"))


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{plain}"' if not plain or set(plain) & set(" \t\"';\\") else plain


def _unit_path(text: str) -> str:
    """What stands alone on its line: it is not split, and only `%` means something."""
    return text.replace("%", "%%")


def _windows_word(word: str) -> str:
    """One word as the C library of Windows splits it."""
    if word and not set(word) & set(' \t"'):
        return word
    quoted = ""
    slashes = 0
    for letter in word:
        if letter == "\\":
            slashes += 1
            continue
        quoted += "\\" * (slashes * 2 + 1 if letter == '"' else slashes) + letter
        slashes = 0
    return '"' + quoted + "\\" * (slashes * 2) + '"'
