"""All workloads, in the order of the table. Each module is one area and ends with its list."""

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

AREAS = {
    "calls": calls,
    "start-up": startup,
    "training": training,
    "sequence models": sequence,
    "loops of scalars": control,
    "products": products,
    "pointwise": pointwise,
    "reductions": reductions,
    "convolution": convolution,
    "derivatives": derivatives,
    "per-example gradients": per_example,
    "ragged programs": ragged,
    "costs over lengths": ragged_curves,
    "library functions": library,
    "memory and size": memory,
}

WORKLOADS = {area: module.WORKLOADS for area, module in AREAS.items()}
