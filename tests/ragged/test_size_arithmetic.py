"""Sizes of ragged axes are sizes: programs that calculate with them, slice, reshape and make arrays, agree with the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

BOUND = 7
LENGTHS = [0, 1, 2, 3, 6, 7]


def half(x: Any) -> Any:
    return x.shape[0] // 2


SLICES: dict[str, Callable[[Any], Any]] = {
    "first half": lambda x: x[: half(x)],
    "second half": lambda x: x[half(x) :],
    "halves joined": lambda x: cnp.concatenate([x[half(x) :], x[: half(x)]]) + x,
    "but the last": lambda x: x[: x.shape[0] - 1],
    "middle": lambda x: x[half(x) : half(x) + 2],
    "from the end": lambda x: x[-(half(x) + 1) :],
    "differences": lambda x: x[1:] - x[:-1],
    "second differences": lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
    "every second": lambda x: x[::2],
    "odd": lambda x: x[1::2],
    "pairs": lambda x: x[1::2] - x[::2][: half(x)],
    "reversed": lambda x: x[::-1],
    "reversed by three": lambda x: x[::-3],
    "reversed part": lambda x: x[4:1:-1],
    "reversed to the front": lambda x: x[half(x) :: -1],
    "negative stop": lambda x: x[1:-2],
    "negative both": lambda x: x[-4:-1],
    "beyond": lambda x: x[9:],
    "remainder": lambda x: x[: x.shape[0] % 3],
    "negative remainder": lambda x: x[: -x.shape[0] % 3],
    "smaller": lambda x: x[: cnp.minimum(x.shape[0], 3)],
    "split in the middle": lambda x: cnp.split(x, [half(x)])[1],
    "split at numbers": lambda x: cnp.split(x, [2, 4])[1],
    "parts": lambda x: cnp.array_split(x, 3)[0],
    "last part": lambda x: cnp.array_split(x, 3)[2],
    "argmax": lambda x: x[: cnp.argmax(cnp.pad(x, (0, 1)))],
}

SHAPES: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: cnp.zeros(x.shape[0] + 1),
    "full": lambda x: cnp.full((2 * x.shape[0] + 1, 2), 7.0) * x.sum(),
    "arange": lambda x: cnp.arange(x.shape[0] - 1 if x.shape[0] is None else x.shape[0] + 2) * 1.0,
    "arange of two": lambda x: cnp.arange(half(x), x.shape[0]) * 1.0,
    "arange in steps": lambda x: cnp.arange(1, 2 * x.shape[0], 3) * 1.0,
    "arange backward": lambda x: cnp.arange(x.shape[0], 0, -1) * x,
    "linspace": lambda x: cnp.linspace(0.0, 2.0, x.shape[0]) * x,
    "linspace without end": lambda x: cnp.linspace(0.0, 2.0, x.shape[0] + 2, endpoint=False),
    "eye": lambda x: cnp.eye(x.shape[0] + 1) * 2.0,
    "pairs": lambda x: x[: half(x) * 2].reshape(half(x), 2),
    "pairs of -1": lambda x: x[: half(x) * 2].reshape(-1, 2),
    "rows": lambda x: x[: half(x) * 2].reshape(2, half(x)),
    "rows of -1": lambda x: x[: half(x) * 2].reshape(2, -1),
    "column order": lambda x: x[: half(x) * 2].reshape((2, -1), order="F"),
    "outer, flat": lambda x: cnp.outer(x, x + 1).ravel(),
    "outer, transposed, flat": lambda x: (x[:, None] + cnp.arange(3.0)).T.reshape(-1),
    "outer, back": lambda x: cnp.outer(x, x + 1).ravel().reshape(x.shape[0], x.shape[0]),
    "outer, other": lambda x: (x[:, None] * cnp.ones(6)).reshape(x.shape[0] * 2, 3),
    "three axes": lambda x: (x[:, None, None] * x[None, :, None] + cnp.arange(2.0)).reshape(x.shape[0], -1),
    "tile": lambda x: cnp.tile(x, 2),
    "tile of sizes": lambda x: cnp.tile(cnp.arange(3.0), x.shape[0]) * x.sum(),
    "tile of both": lambda x: cnp.tile(x, (2, half(x))),
    "repeat": lambda x: cnp.repeat(x, 3),
    "repeat of sizes": lambda x: cnp.repeat(x, half(x)),
    "repeat by lengths": lambda x: cnp.repeat(x, cnp.arange(x.shape[0]) % 3),
    "broadcast": lambda x: cnp.broadcast_to(cnp.arange(3.0), (x.shape[0], 3)) * x[:, None],
    "one beside": lambda x: x * cnp.ones((1,)),
    "roll": lambda x: cnp.roll(x[:, None] * cnp.ones(2), 1),
    "mean by hand": lambda x: x.sum() / (x.shape[0] + 1),
    "power": lambda x: x * x.shape[0] ** 2,
    "divmod": lambda x: x * sum(divmod(x.shape[0], 3)),
}

UPDATES: dict[str, Callable[[Any], Any]] = {
    "set": lambda x: x.at[1:].set(0.0),
    "set values": lambda x: x.at[1:].set(x[1:] * 2),
    "set the half": lambda x: x.at[: half(x)].set(x[: half(x)] + 1),
    "add": lambda x: x.at[half(x) :].add(1.0),
    "multiply": lambda x: x.at[::2].multiply(3.0),
    "reversed": lambda x: x.at[::-1].set(x * 2),
    "reversed pairs": lambda x: x.at[::-2].set(cnp.arange(9.0)[: (x.shape[0] + 1) // 2]),
    "two axes": lambda x: cnp.outer(x, x).at[1:, ::2].set(5.0),
    "max": lambda x: x.at[:-1].max(0.1),
    "of an exact array": lambda x: cnp.zeros(9).at[: x.shape[0]].set(x),
}

PROGRAMS = {**SLICES, **SHAPES, **UPDATES}


def example(length: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(length).uniform(-1, 1, length).astype(np.float32)


def padded(x: np.ndarray[Any, Any], filling: float = np.nan) -> Any:
    return ct.Ragged(np.concatenate([x, np.full(BOUND - len(x), filling, x.dtype)]), {0: len(x)})


def unpadded(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(x.unpad() if isinstance(x, ct.Ragged) else x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_sizes_agree_with_the_exact_ones(name: str) -> None:
    program = PROGRAMS[name]
    weigh = lambda y: (y * cnp.cos(cnp.arange(y.size).reshape(y.shape) + 0.5)).sum()  # noqa: E731
    masked, slope = ct.jit(ct.mask(program)), ct.jit(ct.grad(lambda x: ct.mask(lambda x: weigh(program(x)))(x)))
    for length in LENGTHS:
        x = example(length)
        try:
            wanted = np.asarray(program(cnp.array(x)))
        except (ValueError, TypeError):  # NumPy has an error for it
            assert length <= 1
            continue
        for filling in (np.nan, np.inf, -3.0):
            np.testing.assert_allclose(unpadded(masked(padded(x, filling))), wanted, rtol=1e-6, atol=1e-7)
        gradient = slope(padded(x))
        exact = ct.grad(lambda x: weigh(program(x)))(cnp.array(x))
        np.testing.assert_allclose(unpadded(gradient), exact, rtol=1e-5, atol=1e-6)
        assert not np.asarray(gradient.data)[length:].any()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_sizes_over_a_ragged_batch(name: str) -> None:
    program = PROGRAMS[name]
    rows = [example(length) for length in LENGTHS[2:]]
    found = ct.vmap(ct.mask(program))(ct.ragged(rows))
    for i, row in enumerate(rows):
        result = found[i].unpad() if isinstance(found, ct.Ragged) else found[i]
        np.testing.assert_allclose(result, program(cnp.array(row)), rtol=1e-6, atol=1e-7)


def test_bounds_are_those_of_the_expression() -> None:
    def bounds(program: Callable[[Any], Any]) -> tuple[int, ...]:
        return ct.mask(program)(padded(example(4))).data.shape

    assert bounds(lambda x: x[: half(x)]) == (3,)
    assert bounds(lambda x: x[-3:]) == (3,)
    assert bounds(lambda x: x[half(x) : half(x) + 2]) == (2,)
    assert bounds(lambda x: cnp.zeros(x.shape[0] - half(x))) == (4,)
    assert bounds(lambda x: cnp.concatenate([x[: half(x)], x[half(x) :]])) == (7,)
    assert bounds(lambda x: cnp.zeros(2 * x.shape[0] + 1)) == (15,)
    assert bounds(lambda x: cnp.zeros(x.shape[0] % 3)) == (2,)
    assert bounds(lambda x: cnp.zeros(cnp.maximum(x.shape[0], 9))) == (9,)
    assert bounds(lambda x: cnp.zeros(cnp.sum(x > 0))) == (7,)


def test_axes_of_one_length_may_have_different_bounds() -> None:
    exact, other = example(5), example(5) * 2 + 1
    x = ct.Ragged(np.pad(exact, (0, 2), constant_values=np.nan), {0: 5}, names={0: "n"})
    y = ct.Ragged(np.pad(other, (0, 5), constant_values=np.inf), {0: 5}, names={0: "n"})

    def program(x: Any, y: Any) -> Any:
        return x * y + cnp.where(y > x, x, y) - cnp.maximum(y, 1)[:, None].sum(1) + x[None, ::-1].sum(0) * y

    np.testing.assert_allclose(unpadded(ct.mask(program)(x, y)), program(cnp.array(exact), cnp.array(other)), rtol=1e-6)
    found = ct.grad(lambda x, y: ct.mask(lambda x, y: program(x, y).sum())(x, y), argnums=(0, 1))(x, y)
    wanted = ct.grad(lambda x, y: program(x, y).sum(), argnums=(0, 1))(cnp.array(exact), cnp.array(other))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(unpadded(a), b, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16", "float16", "float32"])
def test_sizes_are_numbers_of_no_particular_width(dtype: str) -> None:
    x = cnp.ones(4, dtype)
    for program in (
        lambda x: x * x.shape[0],
        lambda x: x / x.shape[0],
        lambda x: x + x.shape[0] // 2,
        lambda x: x * (x.shape[0] / 2),
        lambda x: x + x.size,
    ):
        found, wanted = ct.mask(program)(ct.Ragged(cnp.ones(6, dtype), {0: 4})), program(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(unpadded(found), wanted)


def test_integers_of_any_sign_do_to_sizes_what_they_do_to_integers() -> None:
    numbers = [-5, -2, -1, 1, 2, 3, 4]
    for length in range(BOUND + 1):
        x = ct.Ragged(np.zeros(BOUND, np.float32), {0: length})

        def results(n: Any) -> Any:
            made = [n + 3, 3 + n, n - 5, 5 - n, n * -2, -n, +n, abs(n - 3), n**2, n * n - n]
            for k in numbers:
                made += [n // k, n % k, (n - 4) // k, (n - 4) % k, (2 - n) // k, (2 - n) % k]
            made += [n << 2, n >> 1, n & 3, round(n), ~n, n * 2**20]
            return [*made, *divmod(n, 3), 9 // (n + 1), 9 % (n + 1)]

        found = ct.mask(lambda x: cnp.stack([cnp.array(item) for item in results(x.shape[0])]))(x)
        np.testing.assert_array_equal(found, results(length))


def test_comparisons_are_settled_by_bounds_or_are_values() -> None:
    def program(x: Any) -> Any:
        n = x.shape[0]
        assert n >= 0 and n <= BOUND and n + 1 > 0 and n - BOUND <= 0 and n != -1 and n == x.shape[0] and n // 2 < BOUND
        return cnp.where(n > 3, 1, 0) + cnp.where((n == 5) | ~(n < 2), 2, 0)

    for length in LENGTHS:
        expected = (length > 3) + 2 * (length == 5 or not length < 2)
        assert int(ct.mask(program)(padded(example(length)))) == expected
    for undecided, instead in (
        (lambda x: min(x.shape[0], 3), "minimum"),
        (lambda x: 1 if x.shape[0] > 3 else 2, "ct.lax.cond"),
        (lambda x: range(x.shape[0]), "ct.lax.fori_loop"),
    ):
        with pytest.raises(ct.errors.ConcretizationError, match=instead):
            ct.mask(undecided)(padded(example(3)))


def test_equal_sizes_may_be_written_in_many_ways() -> None:
    equal = [
        (lambda n: n - n // 2, lambda n: (n + 1) // 2),
        (lambda n: n // 2 + (n + 1) // 2, lambda n: n),
        (lambda n: -(-n // 2), lambda n: n - n // 2),
        (lambda n: n // 2 // 2, lambda n: n // 4),
        (lambda n: ((n + 1) // 2 + 1) // 2, lambda n: (n + 3) // 4),
        (lambda n: 4 * n // 8, lambda n: n // 2),
        (lambda n: n % 2 + n // 2, lambda n: (n + 1) // 2),
        (lambda n: (-n) % 2, lambda n: n % 2),
        (lambda n: n % 4 // 2, lambda n: n // 2 % 2),
        (lambda n: n - n % 3, lambda n: n // 3 * 3),
        (lambda n: n + (-n) % 4, lambda n: (n + 3) // 4 * 4),
    ]
    other = [
        (lambda n: n // 2, lambda n: (n + 1) // 2),
        (lambda n: n // 3 + (n + 1) // 3, lambda n: n),
        (lambda n: n // 2 // 2, lambda n: (n + 1) // 4),
        (lambda n: n - n // 3, lambda n: (2 * n) // 3),
        (lambda n: n % 3, lambda n: (-n) % 3),
    ]
    for left, right in equal + other:
        agree = all(left(n) == right(n) for n in range(100))
        # Of two and more, as one element is repeated.
        program = lambda x: cnp.ones(left(x.shape[0]) + 2) + cnp.ones(right(x.shape[0]) + 2)  # noqa: E731
        if agree:
            assert unpadded(ct.mask(program)(padded(example(5)))).shape == (left(5) + 2,)
        else:
            with pytest.raises((ct.errors.ShapeError, NotImplementedError)):
                ct.mask(program)(padded(example(5)))


def test_numbers_beyond_int32_are_numbers() -> None:
    x = ct.Ragged(np.ones(3000, np.float32), {0: 2500})
    assert float(ct.mask(lambda x: 1.0 * x.shape[0] ** 3)(x)) == np.float32(2500.0**3)
    assert float(ct.mask(lambda x: 1.0 * x.shape[0] ** 12)(x)) == np.float32(2500.0**12)
    assert float(ct.mask(lambda x: 1.0 * (x.shape[0] * 2**40))(x)) == np.float32(2500.0 * 2**40)


@pytest.mark.parametrize("length", range(5))
def test_powers_whose_exponent_is_a_size_are_sizes(length: int) -> None:
    x = ct.Ragged(np.arange(8.0), {0: length})
    ones = ct.mask(lambda x: cnp.ones(2 ** x.shape[0]))(x)
    assert (ones.data.shape, ones.tolist()) == ((256,), [1.0] * 2**length)
    assert ct.mask(lambda x: cnp.ones(0 ** x.shape[0]))(x).tolist() == [1.0] * 0**length
    small = ct.Ragged(np.arange(4.0), {0: length})
    assert ct.mask(lambda x: cnp.ones(x.shape[0] ** x.shape[0]))(small).tolist() == [1.0] * length**length
    numbers = ct.mask(lambda x: [2.5 ** x.shape[0], (-2) ** x.shape[0], 10 ** x.shape[0]])(x)
    assert list(map(float, numbers)) == [2.5**length, (-2) ** length, 10**length]


def test_a_size_needs_a_bound() -> None:
    with pytest.raises(ct.errors.ConcretizationError, match=r"name a bound: ct.dimension\(value, bound=...\)"):
        ct.mask(lambda k: cnp.zeros(k))(3)
    found = ct.mask(lambda k: cnp.arange(ct.dimension(k, bound=4)))(3)
    np.testing.assert_array_equal(found.unpad(), [0, 1, 2])
    assert found.data.shape == (4,)
    program = ct.mask(lambda k: cnp.arange(ct.dimension(k, bound=4)))
    for given, held in ((9, 4), (-2, 0)):
        assert int(ct.jit(program)(given).lengths[0]) == held
        with pytest.raises(ct.errors.ShapeError, match=rf"the size is {given}, outside of 0 … 4"):
            program(given)
    assert ct.dimension(3, bound=4) == 3 and ct.dimension(np.int64(3), 3) == 3
    for given, bound, message in (
        (5, 4, "the size is 5, outside of 0 … 4"),
        (-1, 4, "outside"),
        (1, -1, "not be negative"),
    ):
        with pytest.raises(ValueError, match=message):
            ct.dimension(given, bound=bound)
    for given in (1.5, True, "3", np.ones(2, int)):
        with pytest.raises(TypeError, match="a size must be an integer scalar"):
            ct.dimension(given, bound=4)


def test_shapes_of_other_numbers_of_elements() -> None:
    with pytest.raises(ct.errors.ShapeError, match="do not fill"):
        ct.mask(lambda x: (x[:, None] * cnp.ones(4)).reshape(x.shape[0], 3))(padded(example(3)))
    with pytest.raises(ValueError, match="only one size can be -1"):
        ct.mask(lambda x: x.reshape(-1, -1))(padded(example(3)))
