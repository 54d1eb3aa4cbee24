"""Typed random keys against JAX's, and their words."""

from __future__ import annotations

import pickle

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import random
from needs import needed

jax = needed("jax")


def words(x):
    return np.asarray(random.key_data(x))


def their_words(x):
    return np.asarray(jax.random.key_data(x))


def test_a_key_is_a_scalar_of_its_own_dtype():
    k = random.key(42)
    theirs = jax.random.key(42)
    assert (k.shape, k.ndim, k.size, k.nbytes, str(k.dtype)) == ((), 0, 1, 8, str(theirs.dtype))
    assert ct.dtypes.issubdtype(k.dtype, ct.dtypes.prng_key) and cnp.issubdtype(k.dtype, ct.dtypes.extended)
    assert not ct.dtypes.issubdtype(np.float32, ct.dtypes.prng_key) and not cnp.issubdtype(k.dtype, np.number)
    assert k.dtype == random.key_dtype() == random.split(k).dtype and k.dtype != np.uint64
    assert random.key_impl(k) == random.key_impl(random.PRNGKey(0)) == jax.random.key_impl(theirs)
    assert str(k) == f"{k}" == repr(k) == repr(theirs) and repr(random.split(k)) == repr(jax.random.split(theirs))
    assert "key" in str(ct.make_ir(lambda k: random.split(k))(k))
    np.testing.assert_array_equal(words(random.clone(k)), words(k))
    np.testing.assert_array_equal(words(random.wrap_key_data(random.PRNGKey(42))), words(k))
    assert cnp.result_type(k, k) == k.dtype and cnp.array(k).dtype == k.dtype


@pytest.mark.parametrize("seed", [0, 7, 2**31, -1])
def test_bits_are_those_of_jax(seed):
    k, theirs = random.key(seed), jax.random.key(seed)
    np.testing.assert_array_equal(words(k), their_words(theirs))
    for shape in [2, 5, (2, 3)]:
        np.testing.assert_array_equal(words(random.split(k, shape)), their_words(jax.random.split(theirs, shape)))
        np.testing.assert_array_equal(words(random.split(k, shape)), random.split(random.PRNGKey(seed), shape))
    np.testing.assert_array_equal(words(random.fold_in(k, 9)), their_words(jax.random.fold_in(theirs, 9)))
    np.testing.assert_array_equal(random.bits(k, (4,)), jax.random.bits(theirs, (4,)))


DRAWS = {
    "normal": lambda r, k: r.normal(k, (3,)),
    "uniform": lambda r, k: r.uniform(k, (3,)),
    "complex": lambda r, k: r.normal(k, (3,), "complex64"),
    "randint": lambda r, k: r.randint(k, (3,), 0, 100),
    "permutation": lambda r, k: r.permutation(k, 10),
    "choice": lambda r, k: r.choice(k, 10, (3,), replace=False),
    "categorical": lambda r, k: r.categorical(k, np.zeros((3, 4), np.float32)),
    "gamma": lambda r, k: r.gamma(k, 2.0, (3,)),
    "poisson": lambda r, k: r.poisson(k, 3.0, (5,)),
    "dirichlet": lambda r, k: r.dirichlet(k, np.ones(3, np.float32)),
    "orthogonal": lambda r, k: r.orthogonal(k, 3),
    "ball": lambda r, k: r.ball(k, 3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_with_typed_keys(name):
    typed = DRAWS[name](random, random.key(3))
    np.testing.assert_array_equal(typed, DRAWS[name](random, random.PRNGKey(3)))
    np.testing.assert_allclose(typed, DRAWS[name](jax.random, jax.random.key(3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ct.jit(lambda k: DRAWS[name](random, k))(random.key(3)), typed, rtol=1e-6)


ARRAYS = {
    "item": lambda m, k: k[1],
    "slice": lambda m, k: k[1:4:2],
    "gather": lambda m, k: k[np.array([3, 0, 0])],
    "reverse": lambda m, k: k[::-1],
    "reshape": lambda m, k: k.reshape(3, 2).T,
    "stack": lambda m, k: m.stack([k, k[::-1]], 1),
    "concatenate": lambda m, k: m.concatenate([k[:2], k]),
    "where": lambda m, k: m.where(np.arange(6) < 3, k, k[::-1]),
    "expand": lambda m, k: m.expand_dims(k, 0),
    "tile": lambda m, k: m.broadcast_to(k, (2, 6)),
    "at": lambda m, k: k.at[0].set(k[5]),
    "roll": lambda m, k: m.roll(k, 2),
    "repeat": lambda m, k: m.repeat(k, 2),
    "ravel": lambda m, k: k.reshape(2, 3).ravel(),
    "take": lambda m, k: m.take(k, np.array([1, 1])),
    "squeeze": lambda m, k: m.squeeze(k[:1]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_keys(name):
    keys, theirs = random.split(random.key(1), 6), jax.random.split(jax.random.key(1), 6)
    result, expected = ARRAYS[name](cnp, keys), ARRAYS[name](jax.numpy, theirs)
    assert (result.dtype, result.shape) == (keys.dtype, expected.shape)
    np.testing.assert_array_equal(words(result), their_words(expected))
    np.testing.assert_array_equal(words(ct.jit(lambda k: ARRAYS[name](cnp, k))(keys)), words(result))


def test_keys_under_transforms():
    keys = random.split(random.key(2), 4)
    rows = ct.vmap(lambda k: random.normal(k, (3,)))(keys)
    np.testing.assert_array_equal(rows, np.stack([random.normal(k, (3,)) for k in keys]))
    np.testing.assert_array_equal(words(ct.vmap(lambda k: random.split(k, 2))(keys)),
                                  words(cnp.stack([random.split(k, 2) for k in keys])))  # fmt: skip
    last, seen = ct.lax.scan(lambda k, _: (random.split(k)[0], k), random.key(0), None, length=3)
    their_last, _ = jax.lax.scan(lambda k, _: (jax.random.split(k)[0], None), jax.random.key(0), None, length=3)
    np.testing.assert_array_equal(words(last), their_words(their_last))
    assert seen.shape == (3,) and seen.dtype == last.dtype
    branch = ct.jit(lambda p, k: ct.lax.cond(p, lambda k: random.fold_in(k, 1), lambda k: random.fold_in(k, 2), k))
    np.testing.assert_array_equal(words(branch(False, keys[0])), words(random.fold_in(keys[0], 2)))
    loop = ct.lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), keys[0])
    assert words(loop).shape == (2,)
    shown = []

    def loss(w, k):
        shown.append(str(k))
        return (w * random.normal(k, (3,))).sum()

    gradient = ct.grad(loss)(cnp.ones(3), keys[0])
    assert shown == ["Traced<key<fry>[]>"]
    np.testing.assert_array_equal(gradient, random.normal(keys[0], (3,)))
    assert ct.eval_shape(lambda k: random.split(k, 3), keys[0]).shape == (3,)
    drawn = ct.mask(lambda x, k: random.normal(k, x.shape))(ct.Ragged(np.zeros(5, np.float32), {0: 3}), keys[0])
    np.testing.assert_array_equal(drawn.unpad(), random.normal(keys[0], (3,)))
    assert np.asarray(keys == keys[::-1]).tolist() == [False] * 4 and bool((keys[0] != keys[0]) == False)  # noqa: E712


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda k: k + 1, TypeError, "random keys are opaque"),
        (lambda k: k * k, TypeError, "random keys are opaque"),
        (lambda k: -k, TypeError, "random keys are opaque"),
        (lambda k: k < k, TypeError, "random keys are opaque"),
        (lambda k: cnp.sin(k), TypeError, "key"),
        (lambda k: k.astype("uint32"), TypeError, "random keys are opaque"),
        (lambda k: cnp.sort(random.split(k)), TypeError, "random keys are opaque"),
        (lambda k: np.asarray(k), TypeError, "key_data"),
        (lambda k: ct.grad(lambda k: 1.0)(k), TypeError, "key"),
        (lambda k: random.normal(random.split(k)), ValueError, "expected one random key"),
        (lambda k: random.split(random.split(k)), ValueError, "expected one random key"),
        (lambda k: random.wrap_key_data(np.zeros(3, np.uint32)), TypeError, "expected a random key"),
        (lambda k: random.wrap_key_data(np.zeros(2, np.int32)), TypeError, "expected a random key"),
        (lambda k: random.key(0, impl="rbg"), NotImplementedError, "depend on the device"),
        (lambda k: random.key(0, impl="none"), ValueError, "no random generator"),
        (lambda k: random.key(1.5), TypeError, "must be an integer"),
    ],
)
def test_errors(use, error, message):
    with pytest.raises(error, match=message):
        use(random.key(0))


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("seed", [-1, np.int8(-1), np.int32(-7), np.int64(-7), np.uint32(2**32 - 1), np.uint64(2**63)])
def test_seeds_of_every_width(seed, x64):
    before = ct.config.read("enable_x64")
    ct.config.update("enable_x64", x64)
    try:
        with jax.enable_x64(x64):
            assert words(random.key(seed)).tolist() == their_words(jax.random.key(seed)).tolist()
    finally:
        ct.config.update("enable_x64", before)


def test_a_permutation_of_numbers_has_one_axis():
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        random.permutation(random.key(0), 10, axis=3)


def test_keys_are_pickled_with_their_words() -> None:
    for key in (random.key(3), random.split(random.key(3), 2)):
        found = pickle.loads(pickle.dumps(key))
        assert found.dtype == key.dtype and found.shape == key.shape
        np.testing.assert_array_equal(random.key_data(found), random.key_data(key))


def test_what_keys_are_filled_with() -> None:
    """As in JAX: positions outside read the words of highest numbers, and a number is both words."""
    keys = ct.random.split(ct.random.key(0), 3)
    outside = [2**32 - 1] * 2
    own, words = ct.random.key_data(keys).tolist(), lambda k: ct.random.key_data(k).tolist()
    for wrap in (lambda f: f, ct.jit):
        assert words(wrap(lambda k: k.at[9].get(mode="fill"))(keys)) == outside
        assert words(wrap(lambda k, i: k.at[i].get(mode="fill"))(keys, np.array([1, 9]))) == [own[1], outside]
        assert words(wrap(lambda k: k.at[9].get(mode="fill", fill_value=k[2]))(keys)) == own[2]
        assert words(wrap(lambda k: k.at[9].get(mode="fill", fill_value=5))(keys)) == [5, 5]
        assert words(wrap(lambda k, i: cnp.take(k, i))(keys, 9)) == outside
    dtype = keys.dtype
    for made in (cnp.full((2,), 3, dtype), ct.lax.full((2,), 3, dtype), cnp.full_like(keys[:2], 3)):
        assert words(made) == [[3, 3], [3, 3]]
    assert words(cnp.ones((), dtype)) == [1, 1] and words(cnp.zeros((), dtype)) == [0, 0]


def test_keys_on_the_host_are_keys() -> None:
    keys = ct.random.split(ct.random.key(0), 3)
    got = ct.device_get({"k": keys, "x": cnp.arange(2)})
    assert (
        isinstance(got["x"], np.ndarray) and ct.random.key_data(got["k"]).tolist() == ct.random.key_data(keys).tolist()
    )
