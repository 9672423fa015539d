"""A shard whose arrays lie in files: they are mapped into memory while it answers, and at no other time.

A group of such shards, one for each block of rows, holds no more than one block in memory. Nothing in `learners/`
notices.

Which arrays a shard has is read off its attributes. Arrays that share memory, such as a slice and the whole, share a
file: a change through one is seen by the other, as in memory. What cannot be followed is refused, never copied
unseen: attributes that are neither numbers, arrays nor tuples of those, buffers from elsewhere that overlap, and
arrays that outlive the call that they were mapped for.
"""

from __future__ import annotations

import gc
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from oddatom.passes.group import ShardGroup

PLAIN = (bool, int, float, complex, str, bytes, np.generic, np.dtype, type(None))
KEEP = 2**12  # arrays smaller than this many bytes, a page of memory, stay where they are


class Stored(NamedTuple):
    """Where an array lies: the number of its file and what NumPy needs to find it there."""

    file: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool


class SpilledShard:
    """A shard that keeps its arrays in scratch files and answers whatever the shard inside answers.

    Methods and attributes are those of the shard inside; answers are copies. The files are removed by `close`, when
    the shard is garbage collected, and when Python ends.

    Parameters
    ----------
    make : callable
        Makes the shard, a `LocalShard` or another whose state is arrays, numbers and tuples. It is called once.
    folder : path, optional
        Where the scratch files go, in a folder of their own; None takes the system's folder for temporary files. They
        take the room of the rows three to six times over. A folder in memory (tmpfs) would defeat the purpose.
    keep : int
        Arrays of fewer bytes stay in memory.
    """

    __slots__ = (
        "__weakref__",
        "_count",
        "_files",
        "_finalizer",
        "_in_use",
        "_keep",
        "_maps",
        "_numbers",
        "_shard",
    )

    def __init__(self, make: Callable[[], Any], folder: str | Path | None = None, *, keep: int = KEEP) -> None:
        self._files = Path(tempfile.mkdtemp(prefix="oddatom-", dir=folder))
        self._finalizer = weakref.finalize(self, _remove, self._files, os.getpid())
        self._keep = keep
        self._count = 0
        self._numbers: set[int] = set()  # of the files there are
        self._in_use: set[int] = set()  # those that the shard's arrays lie in
        self._maps: dict[int, np.ndarray] = {}  # bytes of the mapped files, by number
        self._shard: Any = None
        try:
            self._shard = make()
            self._put_away()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the scratch files; the shard answers no more."""
        self._shard = None
        self._finalizer()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in SpilledShard.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if callable(getattr(type(self._shard), name, None)):
            return partial(self._call, name)
        return self._answer(lambda shard: getattr(shard, name), name)

    def __reduce__(self) -> Any:
        raise TypeError("A SpilledShard cannot be copied or pickled: its files are its own. Make another one.")

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        return self._answer(lambda shard: getattr(shard, name)(*args, **options), name)

    def _answer(self, question: Callable[[Any], Any], name: str) -> Any:
        """Map the arrays, ask, put away what is new, and unmap."""
        if self._shard is None:
            raise ValueError(f"The shard was closed and its rows are gone: there is no {name!r}. Make a new shard.")
        state = self._shard.__dict__
        try:
            try:
                for key, value in state.items():
                    state[key] = _walk(value, self._mapped, key)
                answer = question(self._shard)
            finally:
                owners = self._put_away()
            answer = _walk(answer, partial(_own, owners), name)
            del owners
        finally:  # what the traceback of an error still holds is unmapped with it
            left = self._unmap()
        if any(root() is not None for root in left):
            gc.collect()  # arrays in a reference cycle
            if any(root() is not None for root in left):
                raise RuntimeError(
                    f"{type(self._shard).__name__}.{name} left an array of its rows somewhere outside the shard. "
                    "Copy the array there: it keeps the whole file mapped."
                )
        return answer

    def _mapped(self, place: Any) -> np.ndarray:
        """The array that lies in a file, as a view of the map of that file."""
        if not isinstance(place, Stored):
            return place
        if place.file not in self._maps:
            descriptor = os.open(self._path(place.file), os.O_RDWR)
            try:  # `np.memmap` takes twice the time, a seventh of a fit
                self._maps[place.file] = np.frombuffer(mmap.mmap(descriptor, 0), np.uint8)
            finally:
                os.close(descriptor)
        root = self._maps[place.file]
        array: np.ndarray = np.ndarray(place.shape, place.dtype, root, place.offset, place.strides)
        array.flags.writeable = place.writeable
        return array

    def _unmap(self) -> list[weakref.ref[np.ndarray]]:
        """Let go of the maps, which ends those without views, and remove files out of use; return the maps."""
        maps = [weakref.ref(root) for root in self._maps.values()]
        self._maps = {}
        for number in self._numbers - self._in_use if self._shard is not None else ():
            os.unlink(self._path(number))
        self._numbers = self._in_use
        return maps

    def _put_away(self) -> dict[int, np.ndarray]:
        """Write new arrays to files and leave only their places in the shard.

        Returns the arrays whose memory the shard's arrays are, by `id`.
        """
        mapped = {id(root): number for number, root in self._maps.items()}
        roots = set(mapped)
        owners: dict[int, np.ndarray] = {id(root): root for root in self._maps.values()}
        in_use: set[int] = set()

        def place(array: Any) -> np.ndarray | Stored:
            if isinstance(array, Stored):  # it could not be mapped
                in_use.add(array.file)
                return array
            if type(array) not in (np.ndarray, np.memmap):
                raise TypeError(f"A {type(array).__name__} cannot be kept in a file. Use plain arrays.")
            owner = _owner(array)
            owners[id(owner)] = owner
            if array.size == 0:
                return np.empty(array.shape, array.dtype)
            number = mapped.get(id(owner))
            if number is None:
                if owner.nbytes < self._keep:
                    return array
                number = mapped[id(owner)] = self._write(owner)
            in_use.add(number)
            offset = array.ctypes.data - owner.ctypes.data
            return Stored(number, offset, array.shape, array.strides, array.dtype, array.flags.writeable)

        try:
            state = {key: _walk(value, place, key) for key, value in self._shard.__dict__.items()}
            _check_apart([owner for key, owner in owners.items() if owner.size and key not in roots])
        except BaseException:
            self.close()  # half of the state may be written: there is no going on from here
            raise
        self._shard.__dict__.update(state)
        self._in_use = in_use
        return owners

    def _path(self, number: int) -> str:
        return f"{self._files}{os.sep}{number}"

    def _write(self, owner: np.ndarray) -> int:
        """Write an array's memory to a new file; return its number."""
        if owner.dtype.hasobject:
            raise TypeError("An array of Python objects cannot be kept in a file. Use numbers.")
        if not owner.flags.forc:
            raise ValueError("An array that has gaps in memory cannot be kept in a file. Copy it.")
        memory = owner.ravel("K").view(np.uint8)
        memory[:: mmap.PAGESIZE].max()  # pages that were never touched make a file of small pieces, slow to map
        self._count += 1
        self._numbers.add(self._count)
        try:
            with open(self._path(self._count), "xb") as file:
                file.write(memory.data)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno or 0)}, writing {memory.nbytes} bytes of rows to scratch files. Free some "
                "room there or name another folder",
                str(self._files),
            ) from error
        return self._count


class SpilledGroup(ShardGroup[Any]):
    """Shards that take turns in memory; some, or all, may live there."""

    def close(self) -> None:
        """Remove the scratch files of every shard."""
        for shard in self.shards:
            if isinstance(shard, SpilledShard):
                shard.close()
        super().close()


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child's copy of the shard does not own the files
        shutil.rmtree(folder, ignore_errors=True)


def _walk(value: Any, change: Callable[[Any], Any], where: str) -> Any:
    """`value` with change(array) in the place of every array (or place of one) in it."""
    if isinstance(value, np.ndarray | Stored) or scipy.sparse.issparse(value):
        return change(value)
    if isinstance(value, tuple):
        items = [_walk(item, change, where) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, PLAIN):
        return value
    raise TypeError(
        f"{where!r} is or holds a {type(value).__name__}: whether that holds rows cannot be told. "
        "Let it be an array, a number, or a tuple of those."
    )


def _own(owners: dict[int, np.ndarray], value: Any) -> Any:
    """A copy of what shares memory with the shard; everything else as it is."""
    if isinstance(value, np.ndarray) and id(_owner(value)) not in owners:
        return value
    return value.copy()


def _owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory this one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _check_apart(owners: list[np.ndarray]) -> None:
    """Refuse arrays that share memory without NumPy knowing: two views of one buffer that is not an array's."""
    foreign = [owner for owner in owners if owner.base is not None]
    if any(np.may_share_memory(one, other) for one in foreign for other in owners if one is not other):
        raise ValueError("Two arrays of the shard share a buffer that is not NumPy's. Copy one of them.")
