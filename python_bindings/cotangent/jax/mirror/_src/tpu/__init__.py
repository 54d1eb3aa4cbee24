"""``jax._src.tpu``: what JAX computes there by products of matrices is here what it is everywhere."""
