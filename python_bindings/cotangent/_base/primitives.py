"""The primitives as functions: operands by position, attributes by name. `primitives.reshape(x, shape=[2, 3])`.

A primitive that has several results returns a list. Names that are words of Python end in an underscore (`and_`). Types
are in `primitives.pyi`, which `./dev docs` writes from the records.
"""

import keyword

from cotangent import _core

globals().update(
    {f"{name}_" if keyword.iskeyword(name) else name: function for name, function in _core.primitives.items()}
)
