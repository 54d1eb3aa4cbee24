"""``jax._src.cudnn``: of NVIDIA's library there is nothing but names."""

__all__: list[str] = []
