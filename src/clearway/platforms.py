"""The differences of Linux, macOS and Windows, in one place.

Facts about processes, the boot, the host and file systems. A fact that cannot be learned is None or empty, never a
guess: callers treat "unknown" as "alive" and "supported".
"""

from __future__ import annotations

import errno
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Protocol

    class Hash(Protocol):
        """One of the library's."""

        def update(self, data: bytes, /) -> None: ...
        def copy(self) -> Hash: ...
        def digest(self) -> bytes: ...
        def hexdigest(self) -> str: ...


LINUX = sys.platform.startswith("linux")
MACOS = sys.platform == "darwin"
WINDOWS = sys.platform == "win32"

_NETWORK_FILE_SYSTEMS = frozenset(
    """
    nfs nfs3 nfs4 cifs smb2 smb3 smbfs afpfs webdav davfs ceph glusterfs lustre afs beegfs gpfs vboxsf prl_fs
    fuse.sshfs fuse.s3fs fuse.rclone fuse.gcsfuse fuse.mountpoint-s3 fuse.glusterfs fuse.ceph fuse.ceph-fuse
    fuse.juicefs fuse.vmhgfs-fuse
    """.split()
)

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV})


_MAKES_HASHES: list[Callable[[bytes], Hash]] = []


def sha256(data: bytes) -> Hash:
    """A SHA-256 of some bytes.

    By the interpreter's own code where it has it, since `hashlib` loads OpenSSL, which takes longer than a command.
    """
    if not _MAKES_HASHES:
        try:
            module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
        except ImportError:
            module = __import__("hashlib")
        _MAKES_HASHES.append(module.sha256)
    return _MAKES_HASHES[0](data)


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return sha256(data).hexdigest()


class ProcessFacts:
    """What the system says about one process now."""

    __slots__ = ("name", "parent", "started", "zombie")

    def __init__(self, parent: int, started: str, zombie: bool, name: str) -> None:
        self.parent = parent
        self.started = started
        self.zombie = zombie
        self.name = name


def process_facts(pid: int) -> ProcessFacts | None:
    """None when there is no such process. Raises OSError when the system will not say."""
    if LINUX:
        return _linux_process(pid)
    if MACOS:
        return _macos_process(pid)
    raise OSError("no process facts on this system")


def command_line(pid: int) -> list[str]:
    """The arguments of a process, empty where they cannot be read."""
    try:
        if MACOS:
            return macos_arguments(_macos_facts_of(pid))
        if not LINUX:
            return []
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [part.decode("utf-8", "replace") for part in file.read(65_536).split(b"\0") if part]
    except OSError:
        return []


def working_folders(program: str) -> list[str] | None:
    """Where the processes stand whose program's name begins so; None where that cannot be seen."""
    if MACOS or not os.path.isdir("/proc/self"):
        return None
    found: list[str] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/comm", encoding="utf-8", errors="replace") as opened:
                if opened.read(64).startswith(program):
                    found.append(os.readlink(f"/proc/{name}/cwd"))
        except OSError:
            continue  # over by now, or not ours to look at
    return found


def allow_descriptors(wanted: int) -> None:
    """Let this process open so many, as far as it may: macOS grants 256 to begin with, and many systems 1,024."""
    import resource

    try:
        soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (OSError, ValueError):
        pass  # it does with what it has


def own_burden() -> tuple[int, int] | None:
    """Bytes of memory and descriptors that this process has, where the system says so in a file."""
    if not LINUX:
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))


def boot_id() -> str:
    """An identifier that changes with every boot of the machine."""
    if LINUX:
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return "unknown"
    if MACOS:
        return _macos_sysctl(b"kern.bootsessionuuid") or "unknown"
    return "unknown"


def pid_namespace() -> str:
    """Within what these process ids mean something; empty where there is but one."""
    if not LINUX:
        return ""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def host_name() -> str:
    """The machine, distinct from others that share its network name."""
    name = _node()
    try:
        with open("/etc/machine-id", encoding="utf-8") as file:
            return f"{name}-{file.read().strip()[:8]}"
    except (OSError, ValueError):
        return name


def _node() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket

    return socket.gethostname()


def data_directory(environ: Mapping[str, str]) -> str | None:
    """Where a user's data goes on this system, or None when no home is known."""
    home = environ.get("HOME", "")
    if WINDOWS:
        local = environ.get("LOCALAPPDATA", "")
        return os.path.join(local, "Clearway") if local else None
    if MACOS:
        return os.path.join(home, "Library/Application Support/Clearway") if home else None
    shared = environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(shared):
        return os.path.join(shared, "clearway")
    return os.path.join(home, ".local/share/clearway") if home else None


def network_file_system(path: str) -> str | None:
    """The kind of network file system that holds `path`, or None when it is a local one."""
    best, kind, options = "", "", ""
    for mounted, fstype, more in _mounts():
        inside = path == mounted or path.startswith(mounted.rstrip("/") + "/")
        if inside and len(mounted) >= len(best):
            best, kind, options = mounted, fstype, more
    if kind in _NETWORK_FILE_SYSTEMS or (kind == "9p" and "drvfs" in options):
        return kind
    return None


def ignores_case(directory: str) -> bool:
    """Whether the volume takes `README` and `readme` for one file. `directory` must exist."""
    head, name = os.path.split(directory)
    swapped = os.path.join(head, name.swapcase())
    if swapped == directory:
        return MACOS or WINDOWS
    try:
        there = os.lstat(swapped)  # not through a symlink that happens to be spelled so
        return os.path.samestat(os.stat(directory), there)
    except OSError:
        return False


def readable(descriptors: list[int], seconds: float | None = None) -> list[int]:
    """Those of these files that have something to read or are at their end; waits for the first of them, for ever where
    no time is given. Where the system has it by `poll`, which takes descriptors of any number: `select` knows 1,024."""
    import select

    if not hasattr(select, "poll"):
        return select.select(descriptors, [], [], seconds)[0]
    asked = select.poll()
    for each in descriptors:
        asked.register(each, select.POLLIN | select.POLLHUP)
    return [each for each, _ in asked.poll(None if seconds is None else max(0, int(seconds * 1_000)))]


def aside(file: str) -> str:
    """A name beside a file, for what takes its place once it is whole: this thread's alone, since a host answers in
    several."""
    import _thread

    return f"{file}.{os.getpid()}-{_thread.get_ident()}"


def write_private(file: str, raw: bytes, *, lasting: bool = False) -> None:
    """Put a file in its place, whole, which nobody else can read at any moment. lasting: the machine may stop then."""
    beside = aside(file)
    descriptor = os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        try:
            while raw:
                raw = raw[os.write(descriptor, raw) :]
            if lasting:
                full_sync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, file)
    except OSError:
        os.unlink(beside)
        raise


def make_private(folder: str) -> None:
    """Make a folder, and those above it that are missing, for the owner alone."""
    upper = os.path.dirname(folder)
    if upper != folder and not os.path.isdir(upper):
        make_private(upper)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass


def keep_private(path: str) -> bool:
    """Take from others what they could do with our file or folder. Whether they could do anything. A device is
    everybody's, as is a folder with a sticky bit: whoever names one by mistake does not close it to all."""
    try:
        mode = os.stat(path).st_mode
        if mode & 0o077 and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not mode & stat.S_ISVTX:
            os.chmod(path, mode & 0o700)
            return True
    except OSError:
        pass  # not there yet, or not ours to change: opening says what is wrong
    return False


def is_open(path: str) -> bool:
    """Whether others can do anything with it."""
    try:
        return bool(os.stat(path).st_mode & 0o077)
    except OSError:
        return False


def is_everybodys(folder: str) -> bool:
    """Whether all users may put their files there, as in /tmp."""
    mode = os.stat(folder).st_mode
    return stat.S_ISDIR(mode) and bool(mode & stat.S_ISVTX) and bool(mode & stat.S_IWOTH)


def keep_all_private(path: str) -> None:
    """The same with all that is below a folder; links are not followed."""
    if os.path.islink(path):
        return
    keep_private(path)
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            below = os.path.join(folder, name)
            if not os.path.islink(below):
                keep_private(below)


def put_in_place(aside: str, file: str) -> bool:
    """Give a finished file its name, unless another has it. False when it is taken; `aside` is then still there.

    A hard link is refused by the system when the name is taken. Where there are no hard links (exFAT, some FUSE and
    9p mounts) the folder itself is locked for the look and the rename.
    """
    try:
        os.link(aside, file)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _renamed_in_turn(aside, file)
    os.unlink(aside)
    return True


def _renamed_in_turn(aside: str, file: str) -> bool:
    if WINDOWS:
        try:
            os.rename(aside, file)  # refuses a taken name here
        except FileExistsError:
            return False
        return True
    import fcntl

    folder = os.open(os.path.dirname(file) or ".", os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError:
            pass  # not even locks: the look alone has to do
        if os.path.lexists(file):
            return False
        os.rename(aside, file)
        return True
    finally:
        os.close(folder)


def remove_older(folder: str, wall_ms: int) -> None:
    """Remove the files of a folder that nobody has written since then. What cannot be removed stays."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        file = os.path.join(folder, name)
        try:
            if os.stat(file).st_mtime * 1_000 < wall_ms:
                os.unlink(file)
        except OSError:
            continue


def sync_data(descriptor: int) -> None:
    """Make the contents of a file reach the disk, and its length; not the times that nobody asks for."""
    if sys.platform == "linux":
        os.fdatasync(descriptor)
    else:
        full_sync(descriptor)


def full_sync(descriptor: int) -> None:
    """Bring a file to the disk itself, not only to the drive's cache."""
    if MACOS:
        import fcntl

        try:
            fcntl.fcntl(descriptor, 51)  # F_FULLFSYNC
            return
        except OSError:
            pass
    os.fsync(descriptor)


def peer(connection: socket.socket) -> tuple[int, int]:
    """The user and the process at the other end of a unix socket. OSError where the system does not say."""
    if LINUX:
        raw = connection.getsockopt(1, 17, 12)  # SOL_SOCKET, SO_PEERCRED: struct ucred
        pid, uid = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (0, 4))
        return uid, pid
    if MACOS:
        raw = connection.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred
        told = connection.getsockopt(0, 2, 4)  # LOCAL_PEERPID
        return int.from_bytes(raw[4:8], sys.byteorder), int.from_bytes(told, sys.byteorder)
    raise OSError("no peers on this system")


def shares_our_view(pid: int) -> bool:
    """Whether a process sees the files and the processes that we see. False where that cannot be learned."""
    if not LINUX:
        return True
    try:
        return all(os.readlink(f"/proc/{pid}/{what}") == _seen_by_us(what) for what in _VIEW)
    except OSError:
        return False


_VIEW = ("ns/mnt", "ns/pid", "root")
_SEEN: dict[str, str] = {}


def _seen_by_us(what: str) -> str:
    if what not in _SEEN:
        _SEEN[what] = os.readlink(f"/proc/self/{what}")
    return _SEEN[what]


def hold_alone(path: str) -> int | None:
    """Take an advisory lock that dies with this process: the descriptor that holds it, None if another has it."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise


# --- Linux ------------------------------------------------------------------------------------------------------


def _linux_process(pid: int) -> ProcessFacts | None:
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # a hook asks for several: `open` takes twice as long
        try:
            text = os.read(descriptor, 4_096)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):
        return None
    name, rest = text[text.index(b"(") + 1 : text.rindex(b")")], text[text.rindex(b")") + 2 :].split()
    return ProcessFacts(int(rest[1]), rest[19].decode(), rest[0] in (b"Z", b"X"), name.decode("utf-8", "replace"))


def _mounts() -> list[tuple[str, str, str]]:
    if LINUX:
        try:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
                return [_mountinfo(line) for line in file if " - " in line]
        except OSError:
            return []
    if MACOS:
        import subprocess

        ran = subprocess.run(["/sbin/mount"], capture_output=True, text=True, errors="replace", check=False)
        return [_macos_mount(line) for line in ran.stdout.splitlines() if " on " in line]
    return []


def _mountinfo(line: str) -> tuple[str, str, str]:
    before, after = line.split(" - ", 1)
    point = before.split()[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
    return point, after.split()[0], after


# --- macOS ------------------------------------------------------------------------------------------------------


def _macos_mount(line: str) -> tuple[str, str, str]:
    """`/dev/disk1 on /Volumes/a (apfs, local)`"""
    point, _, rest = line.split(" on ", 1)[1].rpartition(" (")
    return point, rest.split(",")[0].rstrip(")"), rest


def _macos_process(pid: int) -> ProcessFacts | None:
    import ctypes
    import errno

    library = ctypes.CDLL(None, use_errno=True)
    record = ctypes.create_string_buffer(136)  # struct proc_bsdinfo of <sys/proc_info.h>
    written = library.proc_pidinfo(pid, 3, ctypes.c_uint64(0), record, len(record))  # PROC_PIDTBSDINFO
    if written != len(record):
        if ctypes.get_errno() == errno.ESRCH:
            return None
        raise OSError(ctypes.get_errno(), "the system does not say")
    raw = record.raw
    status, parent = (int.from_bytes(raw[at : at + 4], sys.byteorder) for at in (4, 16))
    seconds, micros = (int.from_bytes(raw[at : at + 8], sys.byteorder) for at in (120, 128))
    name = raw[48:64].split(b"\0")[0].decode("utf-8", "replace")
    return ProcessFacts(parent, f"{seconds}.{micros:06}", status == 5, name)  # SZOMB


def _macos_sysctl(name: bytes) -> str:
    import ctypes

    library = ctypes.CDLL(None)
    size = ctypes.c_size_t(64)
    value = ctypes.create_string_buffer(64)
    failed = library.sysctlbyname(name, value, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else value.value.decode("ascii", "replace")


def _macos_facts_of(pid: int) -> bytes:
    import ctypes

    library = ctypes.CDLL(None)
    name = (ctypes.c_int * 3)(1, 49, pid)  # CTL_KERN, KERN_PROCARGS2
    size = ctypes.c_size_t(262_144)
    value = ctypes.create_string_buffer(size.value)
    failed = library.sysctl(name, 3, value, ctypes.byref(size), None, ctypes.c_size_t(0))
    return b"" if failed else value.raw[: size.value]


def macos_arguments(raw: bytes) -> list[str]:
    """The arguments in what KERN_PROCARGS2 tells: how many there are, the file of the program, zeros up to a full word,
    the arguments, and behind them the environment, which is nobody's business."""
    count = int.from_bytes(raw[:4], sys.byteorder)
    _, _, rest = raw[4:].partition(b"\0")
    words = rest.lstrip(b"\0").split(b"\0")[:count]
    return [word.decode("utf-8", "replace") for word in words if word]


def is_device(path: str) -> bool:
    """Whether a resolved path names a device, or what the system only shows as a file: nothing that one works on."""
    return path.startswith(("/proc/", "/sys/")) or (path.startswith("/dev/") and not path.startswith("/dev/shm/"))
