"""Random numbers as pure functions of a key, bit for bit those of ``jax.random``'s default generator.

A key comes from `key`, an array whose dtype says so, or from `PRNGKey`, its two words as a uint32 array; functions take
either and give the same numbers for both. Draws are functions of the key and of the position in the result, computed by
the counter-based Threefry hash: the same key gives the same numbers, on every machine and under every transform; make new
keys with `split` or `fold_in`.
Inside ``ct.mask`` a draw of a ragged shape equals the draw of the exact shape.

Each module is one idea and lists its public names in its ``__all__``; this package is all of them.
"""

from cotangent._base.names import suggest_names as _suggest_names
from cotangent._ops.keys import *
from cotangent.random.basic import *
from cotangent.random.choices import *
from cotangent.random.continuous import *
from cotangent.random.discrete import *
from cotangent.random.distributions import *
from cotangent.random.gammas import *
from cotangent.random.integers import *
from cotangent.random.permutations import *

_suggest_names(globals())
