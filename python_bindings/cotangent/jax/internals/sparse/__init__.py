"""Arrays of which some elements are given with their positions: what `cotangent.jax.mirror.experimental.sparse` is made of."""
