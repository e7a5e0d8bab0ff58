"""The place on disk where compiled code of kernels is kept, and found again.

It is kept in a folder for each module and content: the text of the module and of all modules of its package, and of
`arrays.jit`, that it imports. So no edit can leave old code running, and none elsewhere discards code. The folder says
nothing of where the module lies, which may be an archive: code is found wherever its folder is shipped to, and where
that cannot be written, code that is missing there is kept elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numba
from numba.core import caching

_config: Any = numba.config
_caching: Any = caching
_COMPILER = "arrays.jit"
_CONTENTS_MAX = 3
"""Contents of one module whose compiled code is kept; the least recently used are removed."""
_IMPORT = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|[^(\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders in which compiled code of a module is looked for, and the one of them in which it is kept, if any."""

    read: tuple[Path, ...]
    write: Path | None


@cache
def folders(module: str) -> Folders:
    """The folders of a module's present content: all that there are, and the first that can be written."""
    name, write, read = f"{module}-{_content(module)}", None, []
    for root in filter(None, (_config.CACHE_DIR, Path(__file__).parent / "__pycache__", "~/.cache/spaseq")):
        with suppress(OSError, RuntimeError):  # RuntimeError: there is no home
            folder = Path(root).expanduser() / name
            if write is None and _is_writable(folder):
                _prune(folder.parent, module)
                write = folder
            read += [folder] if folder.is_dir() else []
    return Folders(tuple(read), write)


def _is_writable(folder: Path) -> bool:
    """True if a folder is there, or can be made, and takes files; its time is then that of its last use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
        os.utime(folder)
    except OSError:
        return False
    return True


def _prune(root: Path, module: str) -> None:
    by_use = sorted(root.glob(f"{module}-*"), key=lambda path: path.stat().st_mtime)
    for old in by_use[:-_CONTENTS_MAX]:
        shutil.rmtree(old, ignore_errors=True)


class _Locator(_caching._CacheLocator):  # type: ignore[misc]
    """The place of a kernel's code, as numba asks for it."""

    def __init__(self, folders: Folders, line: int, file: str) -> None:
        self._folders, self._line, self._py_file = folders, line, file

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        """The place of this kernel; its module may lie in an archive."""
        return cls(folders(py_func.__module__), py_func.__code__.co_firstlineno, py_file)

    def ensure_cache_path(self) -> None:
        """Does nothing: the folder has been made."""

    def get_cache_path(self) -> str:
        """The folder in which code is kept."""
        return str(self._folders.write or self._folders.read[0])

    def get_source_stamp(self) -> str:
        """Nothing: the folder's name has a digest of the source."""
        return ""

    def get_disambiguator(self) -> str:
        """The line of the function."""
        return str(self._line)


class _CacheFiles(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(_caching.FunctionCache):  # type: ignore[misc]
    """The compiled code of one kernel: read from each folder, written to one that can be written."""

    _impl_class = _CacheFiles

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._folders = folders(function.__module__)
        name, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._files = [_caching.IndexDataCacheFile(str(folder), name, stamp) for folder in self._folders.read]

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code of a signature for this processor, else for any of its architecture (NUMBA_CPU_NAME=generic)."""
        codegen = target_context.codegen()
        own = self._index_key(sig, codegen)
        generic = (own[0], (codegen.magic_tuple()[0], "generic", ""), *own[2:])
        for key in dict.fromkeys((own, generic)):
            for file in self._files:
                if (data := file.load(key)) is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code, where a folder can be written; a full disk costs compiling again."""
        if self._folders.write is not None:
            with suppress(OSError):
                super()._save_overload(sig, data)


def _content(module: str) -> str:
    """A digest of the text of the module, of the compiler, and of all that they import from their packages."""
    packages = {module.partition(".")[0], __name__.partition(".")[0]}
    texts: dict[str, str] = {}
    waiting = [module, _COMPILER]
    while waiting:
        name = waiting.pop()
        loader = getattr(sys.modules.get(name), "__loader__", None)
        if name not in texts and loader is not None:
            texts[name] = loader.get_source(name) or ""
            waiting += [found for found in _imports(texts[name]) if found.partition(".")[0] in packages]
    return blake2b(repr(sorted(texts.items())).encode(), digest_size=8).hexdigest()


def _imports(text: str) -> Iterator[str]:
    """Names that may be those of modules that a text imports as it is loaded."""
    for package, names in _IMPORT.findall(text):
        yield from (package, *(f"{package}.{name}".lstrip(".") for name in re.findall(r"[\w.]+", names)))
