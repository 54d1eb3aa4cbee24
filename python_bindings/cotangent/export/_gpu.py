"""A function as a C library for GPUs."""

from __future__ import annotations

from pathlib import Path

from cotangent import _core
from cotangent.export._function import Function
from cotangent.export._layout import identifier, key_text
from cotangent.export._write import write_files


class ExportedForGpu:
    """A C library for GPUs that is ready to be written out; what `compile` makes with ``target="cuda"``."""

    def __init__(self, function: Function, name: str, target: str, cublaslt: bool) -> None:
        self.name = name
        self.function = function
        self.target = target
        self._cublaslt = cublaslt

    def _files(self) -> dict[str, bytes]:
        made = self.function
        inputs = [_word(part.name + path) for part in made.arguments for path in part.tree.paths()]
        outputs = [_word(part.name + path) for part in made.results for path in part.tree.paths()]
        return _core.gpu_library(made.graph, self.name, inputs, outputs, made.constants, self.target, self._cublaslt)

    def header(self) -> str:
        """The text of ``NAME.h``."""
        return self._files()[f"{self.name}.h"].decode()

    def save(self, directory: str | Path) -> Path:
        """Writes ``NAME.h``, ``libNAME.a``, ``libNAME.so`` and ``NAME.ctir`` (the saved program), and returns their folder.

        Raises:
            NotImplementedError: an operation runs in this process only, or a loop or branch would have to be waited for.
            ValueError: a target that is none. OSError: the files cannot be written.
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
