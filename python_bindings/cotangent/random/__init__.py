"""Random numbers as pure functions of a key, bit for bit those of ``jax.random``'s default generator.

A key comes from `key`, an array whose dtype says so, or from `PRNGKey`, its two words as a uint32 array; functions take
either and give the same numbers for both. Draws are functions of the key and of the position in the result, computed by
the counter-based Threefry hash: the same key gives the same numbers, on every machine and under every transform; make new
keys with `split` or `fold_in`.
Inside ``ct.mask`` a draw of a ragged shape equals the draw of the exact shape.

Each module is one idea and lists its public names in its ``__all__``; this package is all of them.
"""

from cotangent import _core as _core
from cotangent._base.messages import no_attribute as _no_attribute
from cotangent._ops.keys import *
from cotangent.random.basic import *
from cotangent.random.choices import *
from cotangent.random.continuous import *
from cotangent.random.discrete import *
from cotangent.random.distributions import *
from cotangent.random.gammas import *
from cotangent.random.integers import *
from cotangent.random.permutations import *

# Names of NumPy's, and what does here what they do there.
_OF_NUMPY = {
    **dict.fromkeys(("rand", "random", "random_sample", "ranf"), "ct.random.uniform(key, (3,))"),
    **dict.fromkeys(("randn", "standard_normal", "seed", "default_rng", "RandomState"), "ct.random.normal(key, (3,))"),
    **dict.fromkeys(("integers", "random_integers"), "ct.random.randint(key, (3,), 0, 10)"),
    "shuffle": "ct.random.permutation(key, x)",
}


@_core.leaving
def __getattr__(name: str) -> object:
    if name in _OF_NUMPY:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}\n"
            f"  numbers are drawn by a key, which gives the same every time: key = ct.random.key(0); {_OF_NUMPY[name]}"
        )
    raise _no_attribute(__name__, name)
