"""Axes of one name are of one length: known lengths are compared when a program is called, others under `checkify`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.checkify import checkify, index_checks

DATA = np.arange(1.0, 6.0)


def named(length: Any, name: str = "n") -> ct.Ragged:
    return ct.Ragged(DATA, {0: length}, names={0: name})


def batch(lengths: list[int]) -> ct.Ragged:
    return ct.Ragged(np.ones((2, 5)), {1: np.array(lengths)}, names={1: "n"})


def add(a: Any, b: Any) -> Any:
    return a + b


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "mask": ct.jit(ct.mask(add)),
    "operators": ct.jit(add),
    "keywords": lambda a, b: ct.jit(ct.mask(add))(b=b, a=a),
    "containers": lambda a, b: ct.jit(lambda p: ct.mask(add)(p["a"], p["b"][0]))({"a": a, "b": [b]}),
    "jitted within": ct.jit(lambda a, b: ct.jit(ct.mask(add))(a, b)),
    "jitted within, closing over one": ct.jit(lambda a, b: ct.jit(lambda a: ct.mask(add)(a, b))(a)),
    "jitted within, closing over both": ct.jit(lambda a, b: ct.jit(lambda: ct.mask(add)(a, b))()),
    "closing over one": lambda a, b: ct.jit(lambda a: ct.mask(add)(a, b))(a),
    "static": lambda a, b: ct.jit(lambda _, a, b: ct.mask(add)(a, b), static_argnums=0)("static", a, b),
    "lowered": lambda a, b: ct.jit(ct.mask(add)).lower(named(1), named(1)).compile()(a, b),
    "a loop": ct.jit(lambda a, b: ct.lax.scan(lambda _, x: (None, ct.mask(add)(a, b)), None, length=1)[1][0]),
    "gradient": ct.jit(ct.grad(lambda a, b: ct.mask(lambda a, b: cnp.sum(a * b))(a, b))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jitted_program_is_given_equal_lengths(name: str) -> None:
    program = PROGRAMS[name]
    for _ in range(2):  # compiled meanwhile
        with pytest.raises(ct.errors.ShapeError, match="have lengths 3 and 4"):
            program(named(3), named(4))
        expected = DATA[:2] if name == "gradient" else 2 * DATA[:2]
        np.testing.assert_array_equal(program(named(2), named(2)).unpad(), expected)


def test_each_example_of_a_batch() -> None:
    program = ct.jit(ct.vmap(ct.mask(add)))
    assert program(batch([3, 2]), batch([3, 2])).tolist() == [[2, 2, 2], [2, 2]]
    with pytest.raises(ct.errors.ShapeError, match="lengths 2 and 4 in example 1"):
        program(batch([3, 2]), batch([3, 4]))


def test_a_derivative_knows_its_lengths() -> None:
    gradient = ct.grad(lambda a, b: ct.mask(lambda a, b: cnp.sum(a * b))(a, b))
    with pytest.raises(ct.errors.ShapeError, match="axes named 'n' have lengths 3 and 4"):
        gradient(named(3), named(4))


def test_a_closed_over_length_of_each_call() -> None:
    @ct.jit
    def program(a: Any, b: Any, c: Any) -> Any:
        inner = ct.jit(lambda a, by: ct.mask(add)(a, named(b)) if by else ct.mask(add)(a, named(c)), static_argnums=1)
        return inner(a, True), inner(a, False)

    assert [x.tolist() for x in program(named(2), np.int32(2), np.int32(2))] == [[2, 4], [2, 4]]
    for lengths in ((2, 3, 2), (2, 2, 3)):
        with pytest.raises(ct.errors.ShapeError, match="lengths 2 and 3"):
            program(named(lengths[0]), np.int32(lengths[1]), np.int32(lengths[2]))


def test_a_branch_that_is_not_taken() -> None:
    def program(a: Any, b: Any) -> Any:
        equal = a.lengths[0] == b.lengths[0]
        return ct.lax.cond(equal, lambda: ct.mask(lambda a, b: cnp.sum(a + b))(a, b), lambda: np.float64(-1))

    assert float(ct.jit(program)(named(3), named(4))) == -1
    assert float(ct.jit(program)(named(3), named(3))) == 12


def test_a_donated_argument_is_kept_if_lengths_differ() -> None:
    program = ct.jit(ct.mask(add), donate_argnums=0)
    a = named(3)
    with pytest.raises(ct.errors.ShapeError, match="lengths 3 and 4"):
        program(a, named(4))
    np.testing.assert_array_equal(program(a, named(3)).unpad(), 2 * DATA[:3])


def test_an_error_keeps_the_lengths() -> None:
    ct.config.update("traceback", "full")
    try:
        with pytest.raises(ct.errors.ShapeError) as error:
            ct.jit(ct.mask(add))(named(3), named(4))
    finally:
        ct.config.update("traceback", "short")
    frames = [frame.frame.f_locals for frame in error.traceback if "second" in frame.frame.f_locals]
    assert [int(frames[-1][side]) for side in ("first", "second")] == [3, 4]


def test_names_of_axes_that_do_not_meet() -> None:
    program = ct.jit(lambda a, b: ct.mask(cnp.sum)(a) + ct.mask(cnp.sum)(b))
    assert float(program(named(2), named(3))) == 9


def test_other_names_are_of_other_lengths() -> None:
    outer = ct.jit(ct.mask(lambda a, b: a[:, None] * b))
    assert outer(named(2), named(3, "m")).shape[:1] == (2,)


def test_checkify_reports_what_its_program_is_given() -> None:
    for program in (
        ct.jit(checkify(ct.mask(add), errors=index_checks)),
        checkify(ct.jit(ct.mask(add)), errors=index_checks),
    ):
        error, _ = program(named(3), named(4))
        assert "axes named 'n' have different lengths" in error.get()
        error, result = program(named(3), named(3))
        assert error.get() is None
        np.testing.assert_array_equal(result.unpad(), 2 * DATA[:3])
