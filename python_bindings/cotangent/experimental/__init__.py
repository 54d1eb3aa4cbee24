"""Modules whose interface may still change, under their names in ``jax.experimental``."""
