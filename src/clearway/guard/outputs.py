"""Programs that read here and write there: to the file behind an option, to their last word, or next to the source.

Downloads, archives, compilers and converters. An archive that is unpacked is asked for the names in it, if it is there
and small; else it may write anywhere in its folder, which is found out after the call.
"""

from __future__ import annotations

import os

from clearway.guard.goals import base_name, beside, deletes, edits, in_folder, landed, under
from clearway.guard.shellglobs import SOME
from clearway.guard.shellwords import Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run

_CURL_VALUED = (
    "-A -b -C -d -E -e -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z --user-agent --cookie --data --data-raw "
    "--data-binary --data-urlencode --form --header --config --max-time --range --referer --request --upload-file "
    "--user --proxy --url --write-out --retry --retry-delay --connect-timeout --cacert --cert --key --resolve --json"
)
_CURL_OUTPUTS = frozenset(
    "-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl --hsts".split()
)
_WGET_VALUED = frozenset(
    "-O --output-document -P --directory-prefix -o --output-file -a --append-output -t -T -U -e -i -w -Q -l -A -R -D "
    "-I -X --header --user --password --post-data --timeout --tries --user-agent".split()
)


def _given(options: list[tuple[str, Value | None]], names: frozenset[str]) -> list[Value]:
    """The values of these options; a long one may be cut short as far as its first letters tell."""
    return [
        value
        for text, value in options
        if value is not None
        and (text in names or (text[:2] == "--" and len(text) > 4 and any(name.startswith(text) for name in names)))
    ]


def _files(values: list[Value]) -> list[Value]:
    """Without `-`, which is stdout."""
    return [value for value in values if value.text != "-"]


def _curl(run: Run) -> Goals:
    valued = frozenset(_CURL_VALUED.split()) | _CURL_OUTPUTS | {"--output-dir"}
    options, urls = split_options(run.arguments, valued, anywhere=True)
    folder = next((value for text, value in options if text == "--output-dir"), None)
    found = [value for text, value in options if text in _CURL_OUTPUTS and value is not None]
    if any(text in {"--remote-name", "--remote-name-all"} or _has_letter(text, "O") for text, _ in options):
        urls += [value for text, value in options if text == "--url" and value is not None]
        found += [url.map(_name_in_url) for url in urls]
        run.walk.unknown = run.walk.unknown or any(text[:9] == "--remote-" and "header" in text for text, _ in options)
    return edits(under(folder, _files(found)))


def _has_letter(option: str, letter: str) -> bool:
    return option[:2] != "--" and letter in option


def _name_in_url(url: str) -> str:
    return base_name(url.partition("?")[0].partition("#")[0].partition("://")[2])


def _wget(run: Run) -> Goals:
    options, urls = split_options(run.arguments, _WGET_VALUED, anywhere=True)
    logs = _given(options, frozenset({"-o", "--output-file", "-a", "--append-output"}))
    named = _given(options, frozenset({"-O", "--output-document"}))
    if any(text == "--spider" for text, _ in options):
        return edits(_files(logs))
    folder = next((value for text, value in options if text in {"-P", "--directory-prefix"}), None)
    if not named:
        named = under(folder, [url.map(_name_in_url).map(lambda name: name or "index.html") for url in urls])
    return edits(_files([*logs, *named]))


# Archives.

_TAR_VALUED = frozenset(
    "-f --file -C --directory -T --files-from -X --exclude-from -I --use-compress-program --exclude --strip-components "
    "--transform --xform -b -g -K -L -N -V --owner --group --mode --mtime -s".split()
)


def _tar(run: Run) -> Goals:
    words = run.arguments
    if words and words[0].text and words[0].text[0] not in "-/.":  # `tar xzf FILE`
        words = [words[0].map(lambda text: "-" + text), *words[1:]]
    options, members = split_options(words, _TAR_VALUED, anywhere=True)
    letters = "".join(text for text, _ in options if text[:2] != "--")
    names = {text for text, _ in options}
    archive = next(iter(_given(options, frozenset({"-f", "--file"}))), None)
    folder = next(iter(_given(options, frozenset({"-C", "--directory"}))), None)
    if "x" in letters or not names.isdisjoint({"--extract", "--get"}):
        if "O" in letters or "--to-stdout" in names:
            return []
        moved = any(text.startswith(("--strip", "--trans", "--xform")) for text in names)
        return _unpacked(run, None if moved else archive, folder, members, _in_tar)
    if "t" in letters or "--list" in names or "--diff" in names or "d" in letters:
        return []
    gone = under(folder, members) if "--remove-files" in names else []
    return [*edits(_files([archive] if archive else [])), *deletes(gone)]


def _unzip(run: Run) -> Goals:
    options, words = split_options(run.arguments, frozenset({"-d", "-x", "-P"}), anywhere=True)
    if not words or any(not set("lptvzZ").isdisjoint(text) for text, _ in options):
        return []
    return _unpacked(run, words[0], next(iter(_given(options, frozenset({"-d"}))), None), words[1:], _in_zip)


def _unpacked(
    run: Run,
    archive: Value | None,
    folder: Value | None,
    members: list[Value],
    listed: Callable[[str], list[str] | None],
) -> Goals:
    """The names in the archive, or those that are asked for; else any name in the folder."""
    run.walk.ran_programs = True
    if members and all(member.known and "*" not in "".join(member.texts) for member in members):
        return edits(under(folder, members))
    here = Value(("",)) if folder is None else folder
    names: list[str] | None = None
    if archive is not None and archive.text and run.scope.cwd.text and not os.path.isabs(archive.text):
        names = listed(os.path.join(run.scope.cwd.text, archive.text))
    elif archive is not None and archive.text:
        names = listed(archive.text)
    if names is None:
        run.walk.unknown = True
        run.walk.suspect(in_folder(here, SOME), run.scope)
        return []
    return edits(in_folder(here, name) for name in names)


def _in_tar(path: str) -> list[str] | None:
    from clearway.guard.listing import in_tar

    return in_tar(path)


def _in_zip(path: str) -> list[str] | None:
    from clearway.guard.listing import in_zip

    return in_zip(path)


def _zip(run: Run) -> Goals:
    options, words = split_options(run.arguments, frozenset({"-b", "-n", "-P", "-t", "-tt", "-x", "-i"}), anywhere=True)
    if not words or words[0].text == "-" or any(text in {"-T", "-sf"} for text, _ in options):
        return []
    archive = words[0].map(lambda text: text if "." in base_name(text) else text + ".zip")
    gone = words[1:] if any(text in {"-m", "--move"} for text, _ in options) else []
    return [*edits([archive]), *deletes(gone)]


def _seven(run: Run) -> Goals:
    words = run.arguments
    operands = [word for word in words if not (word.text or "").startswith("-")]
    action = operands[0].text if operands else None
    if action in {"x", "e"}:
        into = next((word.text[2:] for word in words if (word.text or "").startswith("-o") and word.text), None)
        return _unpacked(
            run, operands[1] if len(operands) > 1 else None, Value((into,)) if into else None, operands[2:], _in_zip
        )
    return edits(operands[1:2]) if action in {"a", "u", "d", "rn"} else []


def _jar(run: Run) -> Goals:
    words = run.arguments
    letters = (words[0].text or "").lstrip("-") if words else ""
    if letters[:1] == "x":
        return _unpacked(run, words[1] if len(words) > 1 else None, None, words[2:], _in_zip)
    return edits(words[1:2]) if letters[:1] in {"c", "u"} and "f" in letters else []


def _ar(run: Run) -> Goals:
    letters = (run.arguments[0].text or "").lstrip("-") if run.arguments else ""
    return edits(run.arguments[1:2]) if letters[:1] in {"r", "d", "q", "m"} else []


def _compressing(ending: str, *, undo: bool = False, keeps: bool = False) -> Callable[[Run], Goals]:
    """`gzip FILE` makes FILE.gz and takes FILE away."""

    def goals(run: Run) -> Goals:
        valued = frozenset({"-S", "--suffix", "-o", "-T", "--threads", "-b", "-M", "--memlimit"})
        options, words = split_options(run.arguments, valued, anywhere=True)
        texts = {text for text, _ in options}
        letters = "".join(text for text in texts if text[:2] != "--")
        if (
            "c" in letters
            or "t" in letters
            or "l" in letters
            or texts & {"--stdout", "--to-stdout", "--test", "--list"}
        ):
            return []
        backwards = undo or "d" in letters or bool(texts & {"--decompress", "--uncompress"})
        named = _given(options, frozenset({"-o"}))
        made = named or [
            word.map(lambda text: text.removesuffix(ending)) if backwards else beside(word, ending) for word in words
        ]
        stays = keeps and "--rm" not in texts or "k" in letters or "--keep" in texts
        return [*edits(made), *deletes([] if stays else words)]

    return goals


# Compilers and converters.


def _behind(outputs: str, valued: str = "") -> Callable[[Run], Goals]:
    """A program that writes to the values of these options."""
    names = frozenset(outputs.split())
    options_with_value = names | frozenset(valued.split())

    def goals(run: Run) -> Goals:
        options, _ = split_options(run.arguments, options_with_value, anywhere=True)
        return edits(_files(_given(options, names)))

    return goals


def _compiler(run: Run) -> Goals:
    valued = frozenset("-o -I -L -D -l -x -include -isystem -MF -MT -MQ -std".split())
    options, words = split_options(run.arguments, valued, anywhere=True)
    named = [value for text, value in options if text in {"-o", "-MF"} and value is not None]
    texts = {text for text, _ in options}
    if named or not words or texts & {"-E", "-fsyntax-only", "--version", "-M", "-MM"}:
        return edits(_files(named))
    for letter, ending in (("-c", ".o"), ("-S", ".s")):
        if letter in texts:
            return edits(beside(word.map(lambda text: base_name(text).rpartition(".")[0]), ending) for word in words)
    return edits([Value(("a.out",))])


def _last(least: int = 2, dry: str = "") -> Callable[[Run], Goals]:
    """A program that writes to its last word, if it has enough of them."""

    def goals(run: Run) -> Goals:
        words = run.arguments
        last = words[-1] if words else None
        plain = [word for word in words if not (word.text or "").startswith("-")]
        if last is None or len(plain) < least or (last.text or "-").startswith("-"):
            return []
        return [] if any(word.text in dry.split() for word in words) else edits([last])

    return goals


def _every(run: Run) -> Goals:
    """`mogrify OPTIONS FILES`: operands that are files; the others are values of options."""
    return edits(word for word in run.arguments if "." in (word.text or "") and not (word.text or "").startswith("-"))


def _copied(*verbs: str, behind: str = "") -> Callable[[Run], Goals]:
    """`kubectl cp pod:/x FILE`: what is fetched to here. behind: a word before the verb."""

    def goals(run: Run) -> Goals:
        words = split_options(run.arguments, frozenset({"-c", "--container", "-n", "--namespace"}), anywhere=True)[1]
        if behind and words and words[0].text == behind:
            words = words[1:]
        if len(words) < 3 or words[0].text not in verbs:
            return []
        *sources, goal = words[1:]
        if any(":" in text for text in goal.texts):
            return []
        return edits(landed(run, [source.map(_without_host) for source in sources], goal))

    return goals


def _without_host(text: str) -> str:
    return text.rpartition(":")[2]


def _cmake(run: Run) -> Goals:
    """`cmake -E copy A B`, `cmake -E rm FILE`."""
    words = run.arguments
    if len(words) < 3 or words[0].text != "-E":
        return []
    verb, rest = words[1].text or "", [word for word in words[2:] if not (word.text or "").startswith("-")]
    if verb in {"rm", "remove", "remove_directory", "touch"}:
        return deletes(rest)
    if verb == "rename":
        return deletes(rest)
    return edits(landed(run, rest[:-1], rest[-1])) if verb.startswith("copy") and len(rest) > 1 else []


def _protoc(run: Run) -> Goals:
    """`protoc --python_out=FOLDER x.proto`: whatever it makes there."""
    for word in run.arguments:
        option, sign, folder = (word.text or "").partition("=")
        if sign and option[:2] == "--" and option.endswith("_out"):
            run.walk.suspect(Value((os.path.join(folder.rpartition(":")[2] or ".", SOME),)), run.scope)
    run.walk.ran_programs = True
    return []


def _into(files: str, folders: str, valued: str = "") -> Callable[[Run], Goals]:
    """A program that writes to a file, or whatever it makes to a folder, behind these options."""
    whole = _behind(files, f"{folders} {valued}")
    names = frozenset(folders.split())
    every = names | frozenset(files.split()) | frozenset(valued.split())

    def goals(run: Run) -> Goals:
        for folder in _given(split_options(run.arguments, every, anywhere=True)[0], names):
            run.walk.suspect(in_folder(folder, SOME), run.scope)
        run.walk.ran_programs = True
        return whole(run)

    return goals


def _python_archive(listed: Callable[[str], list[str] | None]) -> Callable[[Run], Goals]:
    """`python -m zipfile -e FILE FOLDER`."""

    def goals(run: Run) -> Goals:
        words = run.arguments
        verb = words[0].text if words else ""
        if verb in {"-e", "--extract"} and len(words) > 1:
            return _unpacked(run, words[1], words[2] if len(words) > 2 else None, [], listed)
        return edits(words[1:2]) if verb in {"-c", "--create"} else []

    return goals


TABLE: dict[str, Callable[[Run], Goals]] = {
    "7z": _seven,
    "7za": _seven,
    "7zz": _seven,
    "ar": _ar,
    "as": _behind("-o"),
    "aws": _copied("cp", "mv", "sync", behind="s3"),
    "babel": _into("-o --out-file", "-d --out-dir"),
    "base64": _behind("-o --output", "-i -w -b"),
    "bsdtar": _tar,
    "bunzip2": _compressing(".bz2", undo=True),
    "bzip2": _compressing(".bz2"),
    "c++": _compiler,
    "cc": _compiler,
    "clang": _compiler,
    "clang++": _compiler,
    "cmake": _cmake,
    "convert": _last(),
    "curl": _curl,
    "dot": _behind("-o"),
    "esbuild": _into("--outfile", "--outdir"),
    "ffmpeg": _last(),
    "g++": _compiler,
    "gcc": _compiler,
    "gpg": _behind("-o --output", "-r -u --recipient"),
    "gsutil": _copied("cp", "mv", "rsync"),
    "gtar": _tar,
    "gunzip": _compressing(".gz", undo=True),
    "gzip": _compressing(".gz"),
    "iconv": _behind("-o --output", "-f -t --from-code --to-code"),
    "inkscape": _behind("-o --export-filename --export-png"),
    "jar": _jar,
    "json.tool": lambda run: edits(split_options(run.arguments, frozenset({"--indent"}), anywhere=True)[1][1:2]),
    "kubectl": _copied("cp"),
    "ld": _behind("-o"),
    "lz4": _compressing(".lz4", keeps=True),
    "magick": _last(),
    "mogrify": _every,
    "msgfmt": _behind("-o --output-file"),
    "msgmerge": lambda run: (
        edits(split_options(run.arguments)[1][:1])
        if any((word.text or "") in {"-U", "--update"} for word in run.arguments)
        else _behind("-o --output-file")(run)
    ),
    "mysqldump": _behind("-r --result-file", "-u -h -P --user --host --port"),
    "openssl": _behind("-out -keyout -writerand"),
    "pandoc": _behind("-o --output"),
    "pdftotext": lambda run: edits(
        split_options(run.arguments, frozenset({"-f", "-l", "-enc"}), anywhere=True)[1][1:2]
    ),
    "pg_dump": _behind("-f --file", "-d -h -p -U -t -n -F -j --dbname --host --port --username --table --format"),
    "protoc": _protoc,
    "psql": _behind("-o --output", "-c -d -f -h -p -U -v --command --dbname --file --host --port --username --set"),
    "rclone": _copied("copy", "copyto", "move", "moveto", "sync"),
    "rollup": _into("-o --file", "-d --dir", "-i --input -c --config -f --format -n --name"),
    "rsvg-convert": _behind("-o --output"),
    "rustc": _behind("-o"),
    "sass": lambda run: edits(split_options(run.arguments, anywhere=True)[1][1:2]),
    "script": lambda run: edits(split_options(run.arguments, frozenset("-c -I -O -B -T -E -m -o".split()))[1][:1]),
    "shuf": _behind("-o --output", "-e -i -n"),
    "sort": _behind(
        "-o --output", "-k --key -t --field-separator -S --buffer-size -T --temporary-directory --parallel"
    ),
    "sox": _last(),
    "ssh-keygen": _behind("-f", "-t -b -C -N -m"),
    "tar": _tar,
    "tarfile": _python_archive(_in_tar),
    "terser": _behind("-o --output"),
    "tidy": lambda run: (
        edits(split_options(run.arguments, frozenset({"-o", "-f"}), anywhere=True)[1])
        if any((word.text or "") in {"-m", "-modify"} for word in run.arguments)
        else _behind("-o -output")(run)
    ),
    "time": _behind("-o --output", "-f --format"),
    "tree": _behind("-o", "-L -P -I"),
    "tsc": _into("--outFile --tsBuildInfoFile", "--outDir --declarationDir", "-p --project -t --target -m --module"),
    "uglifyjs": _behind("-o --output"),
    "unxz": _compressing(".xz", undo=True),
    "unzip": _unzip,
    "unzstd": _compressing(".zst", undo=True, keeps=True),
    "wget": _wget,
    "wkhtmltopdf": _last(),
    "xmllint": _behind("-o --output"),
    "xsltproc": _behind("-o --output"),
    "xz": _compressing(".xz"),
    "zip": _zip,
    "zipfile": _python_archive(_in_zip),
    "zstd": _compressing(".zst", keeps=True),
}
