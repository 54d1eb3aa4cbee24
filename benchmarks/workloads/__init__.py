"""All workloads, in the order of the tables. Each module ends with its lists."""

from workloads import (
    calls,
    control,
    convolution,
    derivatives,
    library,
    memory,
    per_example,
    pointwise,
    products,
    ragged,
    ragged_curves,
    reductions,
    sequence,
    startup,
    training,
)

WORKLOADS = {
    "calls": calls.WORKLOADS,
    "start-up": startup.WORKLOADS,
    "training": training.WORKLOADS,
    "sequence models": sequence.WORKLOADS,
    "loops of scalars": control.WORKLOADS,
    "products": products.WORKLOADS,
    "pointwise": pointwise.WORKLOADS,
    "reductions": reductions.WORKLOADS,
    "convolution": convolution.WORKLOADS,
    "derivatives": derivatives.WORKLOADS,
    "library functions": library.WORKLOADS,
    "memory and size": memory.WORKLOADS,
    "per-example gradients": per_example.WORKLOADS,
    "per-example gradients, over the plain gradient": per_example.OVER_PLAIN,
    "temporaries of per-example gradients, over the plain gradient's": per_example.TEMPORARIES,
    "ragged programs": ragged.WORKLOADS,
    "costs over lengths": ragged_curves.WORKLOADS,
}
