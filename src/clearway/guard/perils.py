"""Which commands destroy what no lease protects, as tables that the danger gate looks up.

A peril is one function and one row: it gets a program that is about to run, with its arguments as they may turn out,
and says in a few words what would be lost, or nothing. It reads words only: what a program does inside is not known
here. Files of others are the guard's business, not these tables'.
"""

from __future__ import annotations

from clearway.guard import peril_places as places
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.guard.shellwords import Value
    from clearway.guard.writers import Run

ARGUMENTS_READ_MAX = 512
SQL_CHARS_READ_MAX = 65_536


class Words:
    """The arguments of a program: `long` options and `letters` of short ones, values by option, and the operands."""

    __slots__ = ("given", "letters", "long", "operands")

    def __init__(self, arguments: list[Value], valued: str = "") -> None:
        options, self.operands = split_options(arguments[:ARGUMENTS_READ_MAX], frozenset(valued.split()), anywhere=True)
        self.given = dict(options)
        self.long = {option for option, _ in options if option.startswith("--")}
        self.letters = {letter for option, _ in options if option[:2] != "--" for letter in option[1:]}

    def says(self, letter: str, *names: str) -> bool:
        """Whether an option is given: by its letter, or by its name or an abbreviation of it."""
        if letter and letter in self.letters:
            return True
        return any(name.startswith(said) and len(said) > 4 for said in self.long for name in names)

    @property
    def first(self) -> str:
        return texts(self.operands[:1])[0] if texts(self.operands[:1]) else ""


def texts(values: Iterable[Value]) -> list[str]:
    return [text for value in values for text in value.texts]


# Files.


def _rm(run: Run) -> str:
    words = Words(run.arguments)
    if words.says("", "--no-preserve-root"):
        return "may delete the whole system"
    if any(map(places.is_history, texts(words.operands))):
        return "wipes the shell's history"
    if not words.says("r", "--recursive") and "R" not in words.letters:
        return ""
    return _deletes(run, words.operands)


def _deletes(run: Run, goals: list[Value]) -> str:
    found = next(filter(None, (places.lost(run.scope, goal) for goal in goals)), "")
    if not found and not all(goal.known for goal in goals):  # `ls | xargs rm -rf`
        found = places.lost_by_name(run.scope, texts(goals))
    return f"deletes {found}" if found else ""


def _shred(run: Run) -> str:
    goals = texts(Words(run.arguments, "-n --iterations -s --size --random-source").operands)
    if any(map(places.is_disk, goals)):
        return "overwrites a disk"
    return "wipes the shell's history" if any(map(places.is_history, goals)) else ""


def _mv(run: Run) -> str:
    words = Words(run.arguments, "-t --target-directory -S --suffix")
    target = texts([value for value in (words.given.get("-t"), words.given.get("--target-directory")) if value])
    sources = words.operands if target else words.operands[:-1]
    if "/dev/null" in [*target, *texts(words.operands[-1:])] and sources:
        return "throws files away"
    lost = next(filter(None, (places.lost(run.scope, goal, contents=False) for goal in sources)), "")
    return f"moves {lost} away" if lost else ""


_FILTERS = frozenset(
    "-name -iname -path -ipath -regex -iregex -mtime -mmin -atime -amin -ctime -cmin -newer -size -empty -user -group "
    "-perm -lname -wholename -samefile -inum -links -prune -not ! -false -newermt".split()
)


def _find(run: Run) -> str:
    words = [argument.text or "" for argument in run.arguments]
    at = next((at for at, word in enumerate(words) if word[:1] == "-" and word not in {"-H", "-L", "-P"}), len(words))
    removes = "-delete" in words or any(
        word.startswith("-exec") and {"rm", "shred"} & {each.rpartition("/")[2] for each in words[at : at + 4]}
        for at, word in enumerate(words)
    )
    if not removes:
        return ""
    roots = [value for value in run.arguments[:at] if value.text not in {"-H", "-L", "-P"}]
    if _FILTERS.isdisjoint(words):
        return _deletes(run, roots) if roots else "deletes the folder it is run in"
    return _system(run, roots, "deletes from")


def _system(run: Run, goals: list[Value], verb: str) -> str:
    found = next((path for goal in goals for path in places.paths(run.scope, goal) if places.is_system(path)), "")
    return f"{verb} the system ({found})" if found else ""


def _chmod(run: Run) -> str:
    words = Words(run.arguments, "--reference")
    if not words.says("R", "--recursive"):
        return ""
    mode = words.first.lstrip("0")
    if mode in {"777", "666"} or (set(mode.partition("+")[0]) <= set("augo=rwx") and _opens(mode)):
        return "makes a whole tree writable by everybody"
    return _system(run, words.operands[1:], "changes the modes of")


def _opens(mode: str) -> bool:
    who, sign, what = mode.partition("+")
    if not sign:
        who, sign, what = mode.partition("=")
    return bool(sign) and "w" in what and (not who or "a" in who or "o" in who)


def _chown(run: Run) -> str:
    words = Words(run.arguments, "--from --reference")
    if not words.says("R", "--recursive"):
        return ""
    return _system(run, words.operands[1:] if "--reference" not in words.given else words.operands, "takes")


def _rsync(run: Run) -> str:
    words = Words(run.arguments, "-e --rsh -f --filter --exclude --include --exclude-from --files-from -T --temp-dir")
    deletes = any(option.startswith("--del") for option in words.long)
    if not deletes or words.says("n", "--dry-run") or not words.operands:
        return ""
    return _deletes(run, words.operands[-1:])


# Disks, processes, the machine.


def _dd(run: Run) -> str:
    goals = [text[3:] for text in texts(run.arguments) if text.startswith("of=")]
    return "overwrites a disk" if any(map(places.is_disk, goals)) else ""


def _mkfs(run: Run) -> str:
    words = Words(run.arguments)
    if words.long & {"--help", "--version"} or not words.operands:
        return ""
    return "formats a disk"


def _wipefs(run: Run) -> str:
    words = Words(run.arguments)
    wipes = words.says("a", "--all") or words.says("o", "--offset")
    return "wipes a disk" if wipes and not words.says("n", "--no-act") else ""


def _partitions(run: Run) -> str:
    said = set(texts(run.arguments))
    if not any(map(places.is_disk, said)) or said & {"-l", "--list", "-p", "--print", "print", "-d", "--dump", "-n"}:
        return ""
    return "changes the partitions of a disk"


def _always(what: str) -> Callable[[Run], str]:
    def judge(run: Run) -> str:
        return "" if {"--help", "--version", "-?"} & set(texts(run.arguments)) else what

    return judge


def _with_words(what: str, *wanted: str) -> Callable[[Run], str]:
    """Dangerous with one of these as its first words: `zpool destroy`."""
    forms = [tuple(each.split()) for each in wanted]

    def judge(run: Run) -> str:
        if {"--help", "-h"} & set(texts(run.arguments)):
            return ""
        said = tuple(texts(Words(run.arguments).operands[:4]))
        return what if any(said[: len(form)] == form for form in forms) else ""

    return judge


def _shutdown(run: Run) -> str:
    said = set(texts(run.arguments))
    if said & {"-c", "--help", "--version", "--show", "/a", "-a", "-k"}:
        return ""
    return "stops this machine"


def _init(run: Run) -> str:
    return "stops this machine" if set(texts(run.arguments)) & {"0", "6"} else ""


def _kill(run: Run) -> str:
    said = texts(run.arguments)
    if said and said[0] in {"-s", "-n", "--signal"}:
        said = said[2:]
    elif said and said[0][:1] == "-" and said[0] != "--":
        said = said[1:]
    return "kills every process of yours" if "-1" in said else ""


def _killall(run: Run) -> str:
    words = Words(run.arguments, "-s --signal -u --user -o --older-than -y --younger-than -n --ns -Z --context")
    harmless = words.letters & {"l", "V", "0"} or words.long & {"--list", "--version", "--help"}
    return "" if harmless else "kills every process of that name, other agents' too"


def _pkill(run: Run) -> str:
    words = Words(run.arguments, "-u -U --euid --uid -g -G --pgroup --group -P --parent -t --terminal -s --session")
    everyone = not words.operands and words.letters & {"u", "U"}
    everyone = everyone or bool(set(texts(words.operands)) & {"", ".", ".*", "*"})
    return "kills every process of yours" if everyone and "0" not in words.letters else ""


def _history(run: Run) -> str:
    return "wipes the shell's history" if "c" in Words(run.arguments, "-d").letters else ""


def _crontab(run: Run) -> str:
    return "deletes all scheduled jobs" if "r" in Words(run.arguments, "-u").letters else ""


# Containers, clusters, clouds, databases.


def _containers(run: Run) -> str:
    words = Words(run.arguments, "--context -c -H --host --filter --log-level -l --config")
    said = texts(words.operands[:2])
    if said == ["system", "prune"] and (words.says("a", "--all") or words.says("", "--volumes")):
        return "deletes every unused image and volume"
    if said in (["volume", "rm"], ["volume", "remove"], ["volume", "prune"]):
        return "deletes volumes with their data"
    return ""


def _kubectl(run: Run) -> str:
    valued = "-n --namespace --context --cluster --user --kubeconfig -f --filename -l --selector -o --output -k"
    words = Words(run.arguments, valued)
    said = texts(words.operands)
    dry = words.given.get("--dry-run")
    if "--dry-run" in words.given and (dry is None or dry.text != "none"):
        return ""
    if said[:1] != ["delete"] or words.says("h", "--help"):
        return ""
    kinds = {part.partition("/")[0] for part in (said[1] if len(said) > 1 else "").split(",")}
    if kinds & {"ns", "namespace", "namespaces"}:
        return "deletes a namespace with all that is in it"
    return "deletes everything of a kind" if words.says("", "--all") or "A" in words.letters else ""


def _terraform(run: Run) -> str:
    words = [text.lstrip("-") if text[:2] == "--" else text for text in texts(run.arguments)]
    if {"help", "-help", "-h"} & set(words):
        return ""
    bare = [word for word in words if word[:1] != "-" and word != "run-all"]
    plans = bare[:1] == ["apply"] and bool({"-destroy", "destroy"} & set(words))
    return "destroys what it manages" if bare[:1] == ["destroy"] or plans else ""


def _sql(run: Run) -> str:
    given = run.arguments if run.stdin is None else [*run.arguments, run.stdin]
    return "drops a database" if any(map(drops, texts(given))) else ""


def drops(text: str) -> bool:
    """Whether a text of SQL, or of a shell's language like it, drops a whole database."""
    text = text[:SQL_CHARS_READ_MAX]
    lower = text.lower()
    if "dropdatabase" in lower or "flushall" in lower or "flushdb" in lower:
        return True
    if "drop" not in lower:
        return False
    words = _without_literals(lower).replace("(", " ").replace(";", " ; ").split()
    return any(
        word == "drop" and after in {"database", "schema"} for word, after in zip(words, words[1:], strict=False)
    )


def _without_literals(text: str) -> str:
    """SQL without its quoted texts and comments, in one pass."""
    kept: list[str] = []
    at = 0
    while at < len(text):
        sign, pair = text[at], text[at : at + 2]
        if sign == "'":
            end = text.find("'", at + 1)
            at = len(text) if end < 0 else end + 1
        elif pair == "--":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif pair == "/*":
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
            kept.append(" ")
        else:
            kept.append(sign)
            at += 1
    return "".join(kept)


def _mysqladmin(run: Run) -> str:
    return "drops a database" if "drop" in texts(run.arguments) else ""


# PowerShell's own.


def _remove_item(run: Run) -> str:
    said = [text.lower() for text in texts(run.arguments)]
    if not any(text.startswith("-rec") or text in {"-r", "/s"} for text in said):
        return ""
    if any(places.is_drive(text) for text in said):
        return "deletes a whole drive"
    return _deletes(run, [value for value in run.arguments if (value.text or "")[:1] != "-"])


_SQL_CLIENTS = (
    "psql mysql mariadb sqlite3 mongosh mongo redis-cli cockroach clickhouse-client sqlcmd usql pgcli mycli duckdb"
)
_FORMATTERS_BEGIN = ("mkfs", "newfs_")
_FORMATTERS = "mke2fs mkdosfs mkswap mkntfs newfs"
_STOPPERS = "shutdown reboot halt poweroff stop-computer restart-computer"

PERILS: dict[str, Callable[[Run], str]] = {
    "rm": _rm,
    "srm": _rm,
    "shred": _shred,
    "mv": _mv,
    "find": _find,
    "gfind": _find,
    "chmod": _chmod,
    "chown": _chown,
    "chgrp": _chown,
    "rsync": _rsync,
    "dd": _dd,
    "gdd": _dd,
    "wipefs": _wipefs,
    "blkdiscard": _always("wipes a disk"),
    **dict.fromkeys("fdisk sfdisk gdisk sgdisk cfdisk parted".split(), _partitions),
    **dict.fromkeys(_FORMATTERS.split(), _mkfs),
    "cryptsetup": _with_words("wipes a disk", "luksFormat", "erase", "luksErase"),
    "zpool": _with_words("destroys a disk pool", "destroy"),
    "zfs": _with_words("destroys a file system", "destroy"),
    **dict.fromkeys("lvremove vgremove pvremove".split(), _always("removes a volume")),
    "diskutil": _with_words("wipes a disk", "eraseDisk", "eraseVolume", "secureErase", "partitionDisk", "zeroDisk"),
    **dict.fromkeys(_STOPPERS.split(), _shutdown),
    "systemctl": _with_words("stops this machine", "poweroff", "reboot", "halt", "kexec", "rescue", "emergency"),
    **dict.fromkeys(("init", "telinit"), _init),
    "kill": _kill,
    **dict.fromkeys(("killall", "killall5"), _killall),
    "pkill": _pkill,
    "history": _history,
    "crontab": _crontab,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _containers),
    **dict.fromkeys(("kubectl", "oc", "k3s"), _kubectl),
    **dict.fromkeys(("terraform", "tofu", "terragrunt"), _terraform),
    "pulumi": _with_words("destroys what it manages", "destroy"),
    "cdk": _with_words("destroys what it manages", "destroy"),
    "gh": _with_words("deletes a repository for good", "repo delete"),
    **dict.fromkeys(_SQL_CLIENTS.split(), _sql),
    "dropdb": _always("drops a database"),
    "mysqladmin": _mysqladmin,
    **dict.fromkeys(("remove-item", "ri", "rd", "rmdir", "del", "erase"), _remove_item),
    **dict.fromkeys(("format-volume", "clear-disk", "initialize-disk"), _always("formats a disk")),
}


def peril(program: str, run: Run) -> str:
    """What a program would destroy, in a few words; empty if nothing is known against it."""
    name = program if program in PERILS else program.lower().removesuffix(".exe")
    judge = _mkfs if name.startswith(_FORMATTERS_BEGIN) else PERILS.get(name)
    return judge(run) if judge else ""


def is_perilous(word: str) -> bool:
    """Whether a program of this name may destroy something, whatever its arguments."""
    return word in PERILS or word.lower().removesuffix(".exe") in PERILS or word.startswith(_FORMATTERS_BEGIN)
