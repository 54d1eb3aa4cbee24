"""States of a training by its steps, in a folder: the newest ones are kept, and what is there is always whole.

Each step is one file of `interop.safetensors`, written beside its place and moved there when it is on the disk. Start at `Checkpoints`.
"""

from __future__ import annotations

import atexit
import os
import re
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names
from cotangent.errors import CorruptFileError
from cotangent.interop import safetensors

__all__ = ["Checkpoints"]

_NAME = re.compile(r"step-(\d+)\.safetensors")


class Checkpoints:
    """The states of a training in a folder, one file for each step that was saved.

    The memory of arrays does not change, so that saving in the background needs no copy of it: the training goes on while a thread writes. A
    process that is killed while it writes leaves the steps as they were, and a file of another name beside them.

    Parameters
    ----------
    folder : path
        Where the files are; it is made by the first `save`. Other files in it are left alone.
    keep : int, optional
        How many steps stay, the one that was saved last and the newest of the others; the rest is removed when it is whole. By default
        all stay.

    Raises
    ------
    ValueError
        ``keep`` is not positive.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ct.interop.checkpoints.Checkpoints(folder, keep=2) as checkpoints:
    ...     for step in (10, 20, 30):
    ...         checkpoints.save(step, {"w": ct.numpy.full(2, float(step))}, background=True)
    >>> checkpoints.steps
    [20, 30]
    >>> checkpoints.restore(like={"w": ct.numpy.zeros(2)})["w"].tolist()
    [30.0, 30.0]
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep: int | None = None) -> None:
        if keep is not None and (not isinstance(keep, int) or keep < 1):
            raise ValueError(
                f"Checkpoints: keep is the number of steps that stay, at least 1; got {keep}\n"
                "  pass keep=1 for the newest alone, or leave keep out: then all stay"
            )
        self._folder = Path(folder).absolute()
        self._keep = keep
        self._writer: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None
        self._process = os.getpid()  # threads are not in the children of a process

    def __repr__(self) -> str:
        """The folder, and what is in it."""
        return f"Checkpoints({str(self._folder)!r}, steps={self.steps})"

    def __enter__(self) -> Checkpoints:
        """Itself: at the end of the block all steps are on the disk."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Waits for what is being written."""
        self.wait()

    @property
    def steps(self) -> list[int]:
        """The steps whose files are there, from the oldest on."""
        if not self._folder.is_dir():
            return []
        found = ((file, _NAME.fullmatch(file.name)) for file in self._folder.iterdir())
        steps = [(file, int(match[1])) for file, match in found if match]
        return sorted(step for file, step in steps if file == self.path(step) and file.is_file())

    @property
    def latest(self) -> int | None:
        """The newest step, or None if there is none."""
        return max(self.steps, default=None)

    def path(self, step: int) -> Path:
        """The file of a step, which `interop.safetensors.load` and other programs read.

        Parameters
        ----------
        step : int
            The step; it need not be there.

        Returns
        -------
        path
            ``folder/step-00000010.safetensors`` for step 10.

        Raises
        ------
        ValueError
            The step is negative.

        Examples
        --------
        >>> ct.interop.checkpoints.Checkpoints("runs").path(10).name
        'step-00000010.safetensors'
        """
        if step < 0:
            raise ValueError(
                f"Checkpoints: steps are counted from 0; got {step}\n  pass 0 or more; the newest one is checkpoints.latest"
            )
        return self._folder / f"step-{step:08d}.safetensors"

    def save(
        self, step: int, tree: Any, *, metadata: Mapping[str, str] | None = None, background: bool = False
    ) -> None:
        """Writes the state of a step; it is there once it is whole.

        Parameters
        ----------
        step : int
            The number of the step, from 0; a step of that number is replaced.
        tree : pytree of arrays, numbers, random keys and `Ragged`s
            The state.
        metadata : mapping from str to str, optional
            Texts to keep with it.
        background : bool
            Return at once, and let a thread write. What fails there is raised by the next `save`, `restore` or `wait`; one step is written at
            a time, so that a `save` waits for the one before.

        Raises
        ------
        ValueError
            The step is negative, or two leaves have one name.
        ConcretizationError
            A leaf is traced: save outside of jitted functions, or from a callback.
        OSError
            The disk is full, or the folder cannot be written to; the steps that are there stay.

        Examples
        --------
        >>> import tempfile
        >>> checkpoints = ct.interop.checkpoints.Checkpoints(tempfile.mkdtemp())
        >>> checkpoints.save(3, {"w": ct.numpy.ones(2)})
        >>> checkpoints.latest
        3
        """
        self.wait()
        # Taken before this returns: the caller may change containers and NumPy's arrays.
        task = self.path(step), *safetensors.tensors_of(tree), dict(metadata or {})
        if not background:
            self._write(*task)
            return
        if self._writer is None or self._process != os.getpid():
            self._writer, self._process = ThreadPoolExecutor(1, "cotangent-checkpoints"), os.getpid()
            atexit.register(_wait_at_exit, weakref.ref(self))
        self._pending = self._writer.submit(self._write, *task)

    def wait(self) -> None:
        """Waits until the step that is being written is on the disk.

        Raises
        ------
        OSError
            It could not be written.

        Examples
        --------
        >>> ct.interop.checkpoints.Checkpoints("runs").wait()
        """
        pending = self._pending
        if pending is None:
            return
        if self._process != os.getpid():  # it is the other process that writes
            self._pending = self._writer = None
            return
        try:
            pending.result()
        finally:
            if pending.done():  # not where waiting was interrupted
                self._pending = None

    def restore(self, like: Any = None, *, step: int | None = None) -> Any:
        """The state of a step.

        Parameters
        ----------
        like : pytree, optional
            The structure, shapes and dtypes that the state has; without it, the result is a dict by names (``layers.0.w``).
        step : int, optional
            Which step; by default the newest.

        Returns
        -------
        pytree of arrays
            As ``like``, or a dict.

        Raises
        ------
        FileNotFoundError
            There is no such step, or none at all.
        CorruptFileError
            Its file is damaged; the message names the newest step before it.
        ValueError
            The file has other names than ``like``, or an array of another shape or dtype.

        Examples
        --------
        >>> import tempfile
        >>> checkpoints = ct.interop.checkpoints.Checkpoints(tempfile.mkdtemp())
        >>> checkpoints.save(3, {"w": ct.numpy.ones(2)})
        >>> checkpoints.restore()["w"].tolist()
        [1.0, 1.0]
        """
        self.wait()
        steps = self.steps
        wanted = self.latest if step is None else step
        if wanted is None or wanted not in steps:
            there = ", ".join(map(str, steps[-5:])) or "none"
            remedy = (
                f"leave step out for the newest, {steps[-1]}"
                if steps
                else "save one first, or start where latest is None"
            )
            raise FileNotFoundError(
                f"Checkpoints.restore: {self._folder} has no step{'' if wanted is None else f' {wanted}'}; there: {there}\n  {remedy}"
            )
        try:
            return safetensors.load(self.path(wanted), like)
        except CorruptFileError as error:
            before = max((other for other in steps if other < wanted), default=None)
            remedy = "there is no earlier step" if before is None else f"the step before it: restore(step={before})"
            wrong = str(error).partition("\n")[0]
            raise CorruptFileError(f"{wrong}\n  {remedy}\n  see docs/errors.md#corrupt-file") from None

    def _write(self, place: Path, tensors: dict[str, Any], others: dict[str, str], metadata: dict[str, str]) -> None:
        safetensors.write(place, tensors, others, metadata)
        if self._keep is not None:
            before = [step for step in self.steps if self.path(step) != place]
            for old in before[: max(len(before) - (self._keep - 1), 0)]:
                self.path(old).unlink(missing_ok=True)


def _wait_at_exit(checkpoints: weakref.ref[Checkpoints]) -> None:
    """So that what fails in the background is told, where nobody waits for it."""
    found = checkpoints()
    if found is not None:
        found.wait()


check_arguments(globals())
suggest_names(globals())
