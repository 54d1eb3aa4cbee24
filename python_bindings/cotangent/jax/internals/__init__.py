"""What stands behind the names of JAX's internals: types of values, primitives with registries of rules, programs, references, meshes."""
