"""Arrays as other libraries ask for them: DLPack, and the addresses of arrays on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.device import devices, platform_and_number
from cotangent._core import Array

# The protocol's numbers of kinds of memory, and of the stream that CUDA's calls mean which name none.
CPU, CUDA = 1, 2
LEGACY_STREAM = 1


def dlpack(
    self: Array, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A DLPack capsule: of the array's memory, read-only, or of a copy.

    A copy it is if ``copy`` is true, if the array is elsewhere than on ``dl_device``, or if the consumer does not say by ``max_version``
    that it knows version 1.0 of the protocol, and with it memory that must not be written to.

    Args:
        stream: of the GPU, in which the consumer will work: 1 (the legacy default, also None), 2 (that of the thread), a handle, or -1
            for a consumer that sees to the order itself. None for an array of the host.
        dl_device: where the consumer wants it: (1, 0) the host, (2, n) GPU n. None: where the array is.

    Raises:
        BufferError: another device, or ``copy=False`` where a copy is needed. ValueError: a stream of the host, or what is none.
    """
    here = dlpack_device(self)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted not in ((CPU, 0), here) and (wanted[0] != CUDA or wanted[1] not in [gpu.id for gpu in devices("cuda")]):
        raise BufferError(
            f"__dlpack__: arrays are in the memory of the host, (1, 0), or of a GPU, (2, n); got dl_device={dl_device!r}\n"
            "  leave dl_device out, or pass (1, 0) for a copy on the host"
        )
    if wanted[0] == CPU and stream is not None:
        raise ValueError(
            f"__dlpack__: the memory of the host has no streams; got stream={stream!r}\n  leave stream out"
        )
    if wanted[0] == CUDA:
        stream = LEGACY_STREAM if stream is None else int(stream)
        if stream == 0 or stream < -1:
            raise ValueError(f"__dlpack__: stream={stream} is none\n  pass 1, 2, -1 or the handle of a stream")
    versioned = max_version is not None and max_version[0] >= 1
    if copy is False and wanted != here:
        raise BufferError(
            f"__dlpack__: the array is on {here}, so dl_device={dl_device!r} needs a copy\n  leave copy out, to copy where it is necessary"
        )
    if not versioned and copy is False:
        raise BufferError(
            "__dlpack__: arrays are immutable, which a consumer learns by version 1.0 of the protocol only; this one asks for"
            f" max_version={max_version!r}\n  leave copy out, to copy where it is necessary, or pass max_version=(1, 0)"
        )
    return _core.to_dlpack(self, versioned, bool(copy) or not versioned, stream, wanted[1])


def dlpack_device(self: Array) -> tuple[int, int]:
    """The device of `__dlpack__`: (1, 0), the CPU, or (2, n), GPU n."""
    platform, number = platform_and_number(_core.place_of(self))
    return (CUDA, number) if platform == "cuda" else (CPU, 0)


def cuda_array_interface(self: Array) -> dict[str, Any]:
    """The array's address on the GPU, read-only, for libraries that ask for this attribute (version 3 of the interface, by Numba).

    Arrays of the host have no such attribute, nor have those of a dtype that NumPy has not.
    """
    dtype = np.dtype(self.dtype)
    if dlpack_device(self)[0] != CUDA or dtype.str[1] not in "biufc":
        raise AttributeError(
            "__cuda_array_interface__: of arrays on a GPU, of NumPy's own dtypes"
            "\n  on the host use numpy.asarray(x), or x.__dlpack__()"
        )
    address, stream = _core.cuda_address(self)
    return {
        "shape": self.shape,
        "typestr": dtype.str,
        "data": (address if self.size else 0, True),
        "version": 3,
        "strides": None,
        "stream": stream,
    }
