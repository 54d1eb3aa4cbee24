"""``jax.example_libraries``: `optimizers`, which numpyro is built on."""

__all__: list[str] = []
