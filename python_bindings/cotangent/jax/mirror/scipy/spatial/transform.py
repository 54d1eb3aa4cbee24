"""``jax.scipy.spatial.transform``: rotations of space as unit quaternions, the real part last, and motions between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core, random
from cotangent._core import Array
from cotangent.jax.narrowing import narrow

__all__ = ["Rotation", "Slerp"]

_NEAR = 1e-3  # angles below have series in the place of quotients
_LEVEL = 1e-7  # how far from a singular angle an angle has to be


def _floating(x: Any) -> Array:
    array = cnp.asarray(narrow(x))
    return array.astype(_core.inexact_dtype(array.dtype), copy=False)


def _unit(quat: Array) -> Array:
    return quat / cnp.linalg.norm(quat, axis=-1, keepdims=True)


def _joined(vector: Array, real: Array) -> Array:
    return cnp.concatenate([vector, real], axis=-1)


def _product(p: Array, q: Array) -> Array:
    v, w = p[..., :3], q[..., :3]
    v, w = cnp.broadcast_arrays(v, w)
    vector = p[..., 3:] * w + q[..., 3:] * v + cnp.cross(v, w)
    return _unit(_joined(vector, p[..., 3:] * q[..., 3:] - cnp.sum(v * w, axis=-1, keepdims=True)))


def _about_axis(axis: int, angle: Array) -> Array:
    half = angle[..., None] / 2
    return _joined(cnp.sin(half) * np.eye(3, dtype=angle.dtype)[axis], cnp.cos(half))


def _axes(seq: str) -> tuple[list[int], bool]:
    """The axes of a sequence of letters, and whether they turn with what is rotated."""
    if not 1 <= len(seq) <= 3 or (not set(seq) <= set("xyz") and not set(seq) <= set("XYZ")):
        raise ValueError(
            f"Rotation: the sequence of axes {seq!r}\n  write up to three of 'xyz', or of 'XYZ' for axes that turn along"
        )
    if any(one == other for one, other in zip(seq, seq[1:], strict=False)):
        raise ValueError(f"Rotation: {seq!r} names one axis twice in a row\n  leave one of them out")
    return ["xyz".index(letter) for letter in seq.lower()], seq.isupper()


class Rotation(NamedTuple):
    """One rotation, or a stack of them."""

    quat: Any

    # ---- Made of something -----------------------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Those of quaternions of any length, the real part last."""
        return cls(_unit(_floating(quat)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Those of orthogonal matrices."""
        m = _floating(matrix)
        x, y, z = (m[..., i, i] for i in range(3))
        trace = x + y + z
        turn = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
        both = {(i, j): m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2))}
        # By the largest part of the quaternion, four ways to the same.
        ways = [
            [1 - trace + 2 * x, both[0, 1], both[0, 2], turn[0]],
            [both[0, 1], 1 - trace + 2 * y, both[1, 2], turn[1]],
            [both[0, 2], both[1, 2], 1 - trace + 2 * z, turn[2]],
            [*turn, 1 + trace],
        ]
        stacked = cnp.stack([cnp.stack(way, axis=-1) for way in ways], axis=-2)
        largest = cnp.argmax(cnp.stack([x, y, z, trace], axis=-1), axis=-1)
        return cls(_unit(cnp.take_along_axis(stacked, largest[..., None, None], axis=-2)[..., 0, :]))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Those about vectors, by angles that are their lengths."""
        vector = _floating(rotvec)
        if degrees:
            vector = cnp.deg2rad(vector)
        angle = cnp.linalg.norm(vector, axis=-1, keepdims=True)
        large = cnp.where(angle > _NEAR, angle, 1)
        scale = cnp.where(angle > _NEAR, cnp.sin(large / 2) / large, 0.5 - angle**2 / 48 + angle**4 / 3840)
        return cls(_unit(_joined(scale * vector, cnp.cos(angle / 2))))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Those of modified Rodrigues parameters: along the axis, the tangent of a quarter of the angle."""
        vector = _floating(mrp)
        square = cnp.sum(vector * vector, axis=-1, keepdims=True)
        return cls(_unit(_joined(2 * vector, 1 - square)))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Those about axes one after another."""
        axes, along = _axes(seq)
        given = _floating(angles)
        if degrees:
            given = cnp.deg2rad(given)
        if len(axes) == 1 and (given.ndim == 0 or given.shape[-1] != 1):
            given = given[..., None]
        if given.ndim == 0 or given.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: {seq!r} needs {len(axes)} angles in the last axis; got shape {given.shape}"
            )
        turns = [_about_axis(axis, given[..., i]) for i, axis in enumerate(axes)]
        result = turns[0]
        for turn in turns[1:]:
            result = _product(result, turn) if along else _product(turn, result)
        return cls(result)

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The one that moves nothing, or a stack of it."""
        quat = cnp.asarray([0, 0, 0, 1], narrow(dtype))
        return cls(quat if num is None else cnp.tile(quat, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Those of a uniform distribution."""
        return cls(_unit(random.normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """One stack of several."""
        return cls(cnp.concatenate([rotation.quat.reshape(-1, 4) for rotation in rotations]))

    # ---- As something ----------------------------------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions of length 1; of the two of a rotation the one whose last part that is not 0 is positive, where asked."""
        quat: Array = self.quat
        if canonical:
            x, y, z, w = (quat[..., i] for i in range(4))
            below = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
            quat = cnp.where(below[..., None], -quat, quat)
        return cnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Orthogonal matrices."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return cnp.stack([cnp.stack(row, axis=-1) for row in rows], axis=-2)

    def _upper(self) -> Array:
        """Of the two quaternions the one with a real part that is not negative."""
        return cnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)  # type: ignore[no-any-return]

    def as_rotvec(self, degrees: bool = False) -> Array:
        """The vectors to rotate about, as long as the angles."""
        quat = self._upper()
        angle = 2 * cnp.arctan2(cnp.linalg.norm(quat[..., :3], axis=-1), quat[..., 3])[..., None]
        large = cnp.where(angle > _NEAR, angle, 1)
        scale = cnp.where(angle > _NEAR, large / cnp.sin(large / 2), 2 + angle**2 / 12 + 7 * angle**4 / 2880)
        vector = scale * quat[..., :3]
        return cnp.rad2deg(vector) if degrees else vector

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters."""
        quat = self._upper()
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """The angles about three axes one after another; where they are not unique the third is 0."""
        axes, along = _axes(seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: {seq!r} names {len(axes)} axes\n  name three")
        i, j, k = reversed(axes) if along else axes
        proper = i == k
        k = 3 - i - j if proper else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = [self.quat[..., n] for n in range(4)]
        if proper:
            a, b, c, d = q[3], q[i], q[j], sign * q[k]
        else:
            a, b, c, d = q[3] - q[j], q[i] + sign * q[k], q[j] + q[3], sign * q[k] - q[i]
        middle = 2 * cnp.arctan2(cnp.hypot(c, d), cnp.hypot(a, b))
        total, difference = cnp.arctan2(b, a), cnp.arctan2(d, c)
        least, most = cnp.abs(middle) <= _LEVEL, cnp.abs(middle - np.pi) <= _LEVEL
        ends = (total - difference, total + difference)
        first, third = (ends[1], ends[0]) if along else ends
        first = cnp.where(least, 2 * total, cnp.where(most, (2 if along else -2) * difference, first))
        third = cnp.where(least | most, 0, third)
        if not proper:
            first, third = (sign * first, third) if along else (first, sign * third)
            middle = middle - np.pi / 2
        angles = cnp.stack([first, middle, third], axis=-1)
        angles = cnp.where(angles < -np.pi, angles + 2 * np.pi, cnp.where(angles > np.pi, angles - 2 * np.pi, angles))
        angles = angles.astype(self.quat.dtype)
        return cnp.rad2deg(angles) if degrees else angles

    # ---- Computed with ---------------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether it is one, and no stack."""
        return bool(self.quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Any) -> Rotation:
        return Rotation(_product(self.quat, other.quat))

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """The angle, from 0 to half a turn."""
        return 2 * cnp.arctan2(cnp.linalg.norm(self.quat[..., :3], axis=-1), cnp.abs(self.quat[..., 3]))

    def apply(self, vectors: Any, inverse: bool = False) -> Array:
        """The vectors, rotated, or rotated back."""
        matrix = self.as_matrix()
        subscripts = "...ji,...j->...i" if inverse else "...ij,...j->...i"
        return cnp.einsum(subscripts, matrix, _floating(vectors))

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation that is nearest to a stack of them."""
        quat = self.quat.reshape(-1, 4)
        w = cnp.ones(quat.shape[0], quat.dtype) if weights is None else _floating(weights)
        _, vectors = cnp.linalg.eigh(cnp.einsum("n,ni,nj->ij", w, quat, quat))
        return Rotation(vectors[:, -1])


class Slerp(NamedTuple):
    """Rotations at times, and the even motion between each and the next."""

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """The motion through rotations at increasing times."""
        given = _floating(times)
        if rotations.single or len(rotations) < 2:
            raise ValueError("Slerp.init: a motion goes through two rotations at least\n  pass a stack of them")
        if given.ndim != 1 or given.shape[0] != len(rotations):
            raise ValueError(f"Slerp.init: {len(rotations)} rotations need as many times; got shape {given.shape}")
        before, after = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(given, cnp.diff(given), rotations, (before.inv() * after).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at some times."""
        at = _floating(times)
        place = cnp.clip(cnp.searchsorted(self.times, at) - 1, 0, self.timedelta.shape[0] - 1)
        part = (at - self.times[place]) / self.timedelta[place]
        return Rotation(self.rotations.quat[place]) * Rotation.from_rotvec(self.rotvecs[place] * part[..., None])
