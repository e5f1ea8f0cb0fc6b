"""The names in an archive that is about to be unpacked, if it is there and small enough to be asked at once."""

from __future__ import annotations

import os

ZIP_BYTES_MAX = 256 * 1_048_576  # of which only the end is read
TAR_BYTES_MAX = 8 * 1_048_576
UNPACKED_BYTES_MAX = 64 * 1_048_576  # a tar archive is read through to find the names in it
NAMES_MAX = 512
_ZIP_END = b"PK\5\6"
_ZIP_END_BYTES = 22
_ZIP_COMMENT_BYTES_MAX = 65_535


def in_zip(path: str) -> list[str] | None:
    """The files in a zip archive; None if that cannot be told."""
    import zipfile

    try:
        if not _is_small(path, ZIP_BYTES_MAX) or _count_in_zip(path) > NAMES_MAX:
            return None
        with zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if not name.endswith("/")]
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return None


def _count_in_zip(path: str) -> int:
    """How many names the archive says that it has: a list of a million is not even begun."""
    with open(path, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        opened.seek(max(0, size - _ZIP_END_BYTES - _ZIP_COMMENT_BYTES_MAX))
        tail = opened.read(_ZIP_END_BYTES + _ZIP_COMMENT_BYTES_MAX)
    at = tail.rfind(_ZIP_END)
    return int.from_bytes(tail[at + 10 : at + 12], "little") if at >= 0 else NAMES_MAX + 1


def in_tar(path: str) -> list[str] | None:
    """The files in a tar archive, compressed or not; None if that cannot be told."""
    import lzma
    import tarfile
    import zlib

    if not _is_small(path, TAR_BYTES_MAX):
        return None
    try:
        with tarfile.open(path) as archive:
            names: list[str] = []
            for member in archive:
                if not member.isdir():
                    names.append(member.name)
                if len(names) > NAMES_MAX or member.offset_data + member.size > UNPACKED_BYTES_MAX:
                    return None
            return names
    except (OSError, ValueError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError):
        return None


def _is_small(path: str, bytes_max: int) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) <= bytes_max
    except (OSError, ValueError):
        return False
