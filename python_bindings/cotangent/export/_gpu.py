"""A function as a C library for GPUs."""

from __future__ import annotations

from pathlib import Path

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent.export._callbacks import callbacks_named
from cotangent.export._function import Function
from cotangent.export._layout import identifier, key_text
from cotangent.export._write import write_files

__all__ = ["ExportedForGpu"]


class ExportedForGpu:
    """A C library for GPUs that is ready to be written out; what `compile` makes with ``target="cuda"``.

    Parameters
    ----------
    function : Function
        The captured function.
    name : str
        Of the library.
    target : str
        ``"cuda"``, or with an architecture.
    cublaslt : bool
        Whether large products of matrices are cuBLASLt's.

    Examples
    --------
    >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice", target="cuda")
    >>> "int twice(" in made.header()
    True
    """

    def __init__(self, function: Function, name: str, target: str, cublaslt: bool) -> None:
        self.name = name
        self.function = function
        self.target = target
        self._cublaslt = cublaslt

    def _files(self) -> dict[str, bytes]:
        made = self.function
        inputs = [_word(part.name + path) for part in made.arguments for path in part.tree.paths()]
        outputs = [_word(part.name + path) for part in made.results for path in part.tree.paths()]
        with callbacks_named([made.graph]):
            return _core.gpu_library(
                made.graph, self.name, inputs, outputs, made.constants, self.target, self._cublaslt
            )

    def header(self) -> str:
        """Returns the text of ``NAME.h``.

        Returns
        -------
        str
            C, which C++ reads, too.

        Examples
        --------
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice", target="cuda")
        >>> [line for line in made.header().splitlines() if line.startswith("int twice(")]
        ['int twice(...CUstream stream);']
        """
        return self._files()[f"{self.name}.h"].decode()

    def save(self, directory: str | Path) -> Path:
        """Writes the library's files and returns their folder.

        ``NAME.h``, ``libNAME.a``, ``libNAME.so`` and ``NAME.ctir``, the saved program.

        Parameters
        ----------
        directory : str or path
            Made if it is missing.

        Returns
        -------
        Path
            Of the folder.

        Raises
        ------
        NotImplementedError
            An operation runs in this process only, or a loop or branch would have to be waited for.
        ValueError
            A target that is none.
        OSError
            The files cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> made = ct.export.compile(lambda x: x * 2, ct.numpy.ones(4), name="twice", target="cuda")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(path.name for path in made.save(folder).iterdir())
        ['libtwice.a', 'libtwice.so', 'twice.ctir', 'twice.h']
        """
        files = self._files()
        path = Path(directory)
        write_files(path, files)
        return path

    def __repr__(self) -> str:
        return f"<C library {self.name} for {self.target}>"


def _word(path: str) -> str:
    """A path as one name: ``params['w']`` is ``params_w``."""
    words = [word for word in path.replace("]", "").replace("'", "").replace(".", "[").split("[") if word]
    name = "_".join(words)
    return name if name.isidentifier() else identifier(key_text(f".{name}"), "x")


check_arguments(globals())
