"""Quantities of the gradients of single examples: norms, clipped sums, moments, kernels, influence, private training.

Each function takes the loss of ONE example, ``loss(params, *example)``, and gives a function of the parameters and of a batch, every array of
which has the examples along axis 0. It computes what ``vmap(grad(loss))`` and a reduction of that would; its docstring shows this program.
A call is one compiled program, inside of ``jit`` a part of the caller's, so gradients of examples are stored only where that is cheapest.
As under ``vmap``, a loss cannot branch on values. Results nest in all transforms.

Arrays of a batch may be given by name, too, as the loss calls its arguments. Sums and means of gradients have the dtypes of ``params``, as gradients
have; what is made of their squares, and numbers of single examples, are in at least float32, and sums are made in it.

    norms = ct.per_example.norms(loss)(params, images, labels)
    step = ct.per_example.dp_sgd_step(loss, learning_rate=0.5, clip_norm=1.0, noise_multiplier=1.1, expected_batch_size=256)
"""

from cotangent._base.arguments import adopt_members as _adopt_members
from cotangent._base.names import suggest_names
from cotangent.per_example.clipping import clipped_sum, norms
from cotangent.per_example.curvature import fisher_vector_product, gauss_newton_vector_product
from cotangent.per_example.moments import NoiseScale, mean_and_variance, noise_scale, second_moment, weighted_sum
from cotangent.per_example.privacy import (
    adaptive_private_gradient,
    dp_sgd_step,
    epsilon,
    poisson_batch,
    private_gradient,
)
from cotangent.per_example.products import dot, gradient_times_vector, influence, kernel

__all__ = [
    "NoiseScale",
    "adaptive_private_gradient",
    "clipped_sum",
    "dot",
    "dp_sgd_step",
    "epsilon",
    "fisher_vector_product",
    "gauss_newton_vector_product",
    "gradient_times_vector",
    "influence",
    "kernel",
    "mean_and_variance",
    "noise_scale",
    "norms",
    "poisson_batch",
    "private_gradient",
    "second_moment",
    "weighted_sum",
]

_adopt_members(globals())

suggest_names(globals())
