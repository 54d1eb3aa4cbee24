"""How exact products are asked to be: names that are checked, and always satisfied."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from cotangent._base.arguments import suggestion


class Precision(Enum):
    """How exact a product is asked to be. Products here are always exact to the rounding of their dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _PRECISIONS.get(value) if isinstance(value, str) or value is None else None

    def __str__(self) -> str:
        return self.name


_PRECISIONS: dict[Any, Precision] = {
    None: Precision.DEFAULT, "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "tensorfloat32": Precision.HIGH, "bfloat16_3x": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}  # fmt: skip


class DotAlgorithmPreset(Enum):
    """Algorithms of accelerators, named by the dtypes of operands and sums; accepted, and of no effect."""

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15


class DotAlgorithm(NamedTuple):
    """The dtypes that an accelerator computes a product in; accepted, and of no effect."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


def check_precision(precision: Any) -> None:
    """Raises for what asks for no precision: products always have at least that of their dtype, which is what any of them asks for.

    Raises:
        ValueError: it is no known precision, nor a pair of them.
    """
    if precision is None or isinstance(precision, DotAlgorithm):
        return
    parts = precision if isinstance(precision, (tuple, list)) else (precision,)
    for part in parts:
        # Other libraries' precisions have names, too.
        name = part if isinstance(part, str) else getattr(part, "name", None)
        if part not in _PRECISIONS and name not in Precision.__members__ and name not in DotAlgorithmPreset.__members__:
            raise ValueError(
                f"unknown precision {part!r}{suggestion(part, [word for word in _PRECISIONS if word])}\n"
                f"  supported: {', '.join(map(repr, _PRECISIONS))}, lax.Precision, "
                "lax.DotAlgorithmPreset, or a pair of them"
            )
    if len(parts) not in (1, 2):
        raise ValueError(
            f"a precision is one value or a pair; got {precision!r}\n  give one for each operand, ('highest', 'high'), or one for both"
        )
