"""`import jax` answered by this package, so that programs and libraries written for JAX run on it as they are.

`install` makes ``jax``, its submodules and ``jaxlib`` resolve here, for the rest of the process or, with `installed`, for a ``with`` block.
``python -m cotangent.jax program.py`` does so before it runs a program, and the environment variable ``COTANGENT_JAX=1`` for every
Python process. `finder` is the mechanism: which object a name of JAX stands for; `mirror` has the counterparts of what JAX has and
`cotangent` has under another name or not at all; `narrowing` is JAX's arithmetic without 64 bits. `names.txt` lists what JAX has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cotangent._base.arguments import check_arguments
from cotangent.jax import finder
from cotangent.jax.names import JAX_VERSION

__all__ = ["JAX_VERSION", "install", "installed", "is_installed", "uninstall"]


def install() -> None:
    """Makes ``import jax`` find this package from here on.

    Doing it twice is doing it once. Programs that are not to be changed run by ``python -m cotangent.jax program.py``.

    Raises
    ------
    RuntimeError
        JAX itself has been imported in this process.

    Examples
    --------
    >>> import cotangent.jax
    >>> cotangent.jax.install()
    >>> import jax.numpy as jnp
    >>> float(jnp.arange(4.0).sum())
    6.0
    >>> cotangent.jax.uninstall()
    """
    finder.install()


def uninstall() -> None:
    """Makes ``import jax`` find JAX itself from here on, if it is there.

    Modules that have imported ``jax`` already keep what they have.

    Examples
    --------
    >>> import cotangent.jax
    >>> cotangent.jax.install()
    >>> cotangent.jax.uninstall()
    >>> cotangent.jax.is_installed()
    False
    """
    finder.uninstall()


def is_installed() -> bool:
    """Returns whether ``import jax`` finds this package now.

    Returns
    -------
    bool
        As `install`, `uninstall` and `installed` have it.

    Examples
    --------
    >>> import cotangent.jax
    >>> with cotangent.jax.installed():
    ...     cotangent.jax.is_installed()
    True
    """
    return finder.is_installed()


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Opens a scope in which ``import jax`` finds this package.

    Returns
    -------
    context manager
        It gives None.

    Raises
    ------
    RuntimeError
        JAX itself has been imported in this process.

    Examples
    --------
    >>> import cotangent.jax
    >>> with cotangent.jax.installed():
    ...     import jax.numpy as jnp
    ...     float(jnp.arange(4.0).sum())
    6.0
    """
    already = finder.is_installed()
    finder.install()
    try:
        yield
    finally:
        if not already:
            finder.uninstall()


check_arguments(globals())
