"""tf.gfile: Python's own files on this machine, and C++'s file systems for paths with a scheme (gs://, s3://, mem://)."""

from __future__ import annotations

import collections
import fnmatch
import glob as _glob
import io
import os
import shutil
from typing import Any

from systole_tpu import _core

from ._registry import NAMES, export


def _remote(name: str) -> bool:
    return "://" in name


class _Writer(io.RawIOBase):
    """A file of C++ that is written from its begin on."""

    def __init__(self, name: str, begin: bytes = b"") -> None:
        self._file = _core.create_file(name)
        if begin:
            self._file.append(begin)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        if not self.closed:
            self._file.flush()

    def close(self) -> None:
        if not self.closed:
            super().close()  # flushes
            self._file.close()


def _open(name: str, mode: str) -> Any:
    binary = "b" in mode
    if not _remote(name):
        try:
            return open(name, mode, encoding=None if binary else "utf-8")
        except OSError as error:
            raise _os_error(error, name) from None
    if mode.startswith("r"):
        made: Any = io.BytesIO(_core.read_file(name))
    else:
        begin = _core.read_file(name) if mode.startswith("a") and _core.file_exists(name) else b""
        made = _Writer(name, begin)
    return made if binary else io.TextIOWrapper(made, encoding="utf-8", write_through=True)


@export("gfile.GFile", "gfile.Open", "gfile.FastGFile", "io.gfile.GFile")
class GFile:
    """A file, as Python's own, with TensorFlow's methods."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = os.fspath(name), mode
        self._file: Any = None

    @property
    def _open(self) -> Any:
        if self._file is None:
            self._file = _open(self._name, self._mode)
        return self._file

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

    def read(self, n: int = -1) -> Any:
        return self._open.read(n)

    def write(self, file_content: Any) -> None:
        """Text or bytes, whatever the mode is."""
        binary = "b" in self._mode
        if binary and isinstance(file_content, str):
            file_content = file_content.encode("utf-8")
        elif not binary and isinstance(file_content, (bytes, bytearray)):
            file_content = file_content.decode("utf-8")
        self._open.write(file_content)

    def readline(self) -> Any:
        return self._open.readline()

    def readlines(self) -> Any:
        return self._open.readlines()

    def seek(self, offset: int, whence: int = 0) -> None:
        self._open.seek(offset, whence)

    def tell(self) -> int:
        return self._open.tell()

    def size(self) -> int:
        return stat(self._name).length

    def flush(self) -> None:
        self._open.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._mode[0] in "wa" and self._file is None:
            self._file = _open(self._name, self._mode)  # an empty file
        self.close()

    def __iter__(self) -> Any:
        return iter(self._open)

    def __next__(self) -> Any:
        return next(self._open)


def _os_error(error: OSError, name: str) -> Exception:
    kind = (
        "NotFoundError"
        if isinstance(error, FileNotFoundError)
        else "PermissionDeniedError"
        if isinstance(error, PermissionError)
        else "UnknownError"
    )
    return NAMES[f"errors.{kind}"](None, None, f"{name}; {error.strerror}")


@export("gfile.Exists", "io.gfile.exists")
def exists(filename: Any) -> bool:
    name = os.fspath(filename)
    return _core.file_exists(name) if _remote(name) else os.path.exists(name)


@export("gfile.IsDirectory", "io.gfile.isdir")
def is_directory(dirname: Any) -> bool:
    name = os.fspath(dirname)
    if not _remote(name):
        return os.path.isdir(name)
    return _core.file_exists(name) and _core.file_stat(name)[1]


@export("gfile.MakeDirs", "gfile.MkDir", "io.gfile.makedirs", "io.gfile.mkdir")
def make_dirs(dirname: Any) -> None:
    name = os.fspath(dirname)
    if _remote(name):
        _core.make_directories(name)
    else:
        os.makedirs(name, exist_ok=True)


@export("gfile.ListDirectory", "io.gfile.listdir")
def list_directory(dirname: Any) -> list[str]:
    name = os.fspath(dirname)
    if _remote(name):
        return _core.list_files(name)
    try:
        return sorted(os.listdir(name))
    except OSError as error:
        raise _os_error(error, name) from None


def _remote_glob(pattern: str) -> list[str]:
    folder, _, last = pattern.rpartition("/")
    if not _core.file_exists(folder):
        return []
    return [f"{folder}/{name}" for name in _core.list_files(folder) if fnmatch.fnmatch(name, last)]


@export("gfile.Glob", "io.gfile.glob")
def glob(filename: Any) -> list[str]:
    patterns = [os.fspath(p) for p in (filename if isinstance(filename, (list, tuple)) else [filename])]
    return sorted(name for p in patterns for name in (_remote_glob(p) if _remote(p) else _glob.glob(p)))


@export("gfile.Remove", "io.gfile.remove")
def remove(filename: Any) -> None:
    name = os.fspath(filename)
    if _remote(name):
        _core.remove_file(name)
        return
    try:
        os.remove(name)
    except OSError as error:
        raise _os_error(error, name) from None


@export("gfile.DeleteRecursively", "io.gfile.rmtree")
def delete_recursively(dirname: Any) -> None:
    name = os.fspath(dirname)
    if _remote(name):
        _core.remove_tree(name)
        return
    try:
        shutil.rmtree(name)
    except OSError as error:
        raise _os_error(error, name) from None


def _check_free(name: str, overwrite: bool) -> None:
    if not overwrite and exists(name):
        raise NAMES["errors.AlreadyExistsError"](None, None, f"{name}; file exists")


@export("gfile.Rename", "io.gfile.rename")
def rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    old, new = os.fspath(oldname), os.fspath(newname)
    _check_free(new, overwrite)
    if _remote(old):
        _core.rename_file(old, new)
        return
    try:
        os.replace(old, new)
    except OSError as error:
        raise _os_error(error, old) from None


@export("gfile.Copy", "io.gfile.copy")
def copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    old, new = os.fspath(oldpath), os.fspath(newpath)
    _check_free(new, overwrite)
    with GFile(old, "rb") as source, GFile(new, "wb") as target:
        target.write(source.read())


_Stat = collections.namedtuple("FileStatistics", ["length", "mtime_nsec", "is_directory"])


@export("gfile.Stat", "io.gfile.stat")
def stat(filename: Any) -> Any:
    name = os.fspath(filename)
    if _remote(name):
        size, folder, time = _core.file_stat(name)
        return _Stat(size, time, folder)
    try:
        found = os.stat(name)
    except OSError as error:
        raise _os_error(error, name) from None
    return _Stat(found.st_size, found.st_mtime_ns, os.path.isdir(name))


def _walk_remote(top: str) -> Any:
    names = _core.list_files(top)
    folders = [n for n in names if _core.file_stat(f"{top}/{n}")[1]]
    yield top, folders, [n for n in names if n not in folders]
    for folder in folders:
        yield from _walk_remote(f"{top}/{folder}")


@export("gfile.Walk", "io.gfile.walk")
def walk(top: Any, in_order: bool = True) -> Any:
    name = os.fspath(top)
    return _walk_remote(name.rstrip("/")) if _remote(name) else os.walk(name, topdown=in_order)
