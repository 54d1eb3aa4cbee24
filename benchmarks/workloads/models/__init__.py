"""Whole models and programs, as their authors write them: a step of training, a simulation, a search. Each module has one area.

Programs are written once for this library and JAX, in the names that both have (`library.xp`, `library.lax`, `library.module`), and again for torch where
torch has a way of its own. None may be slower than the best peer.
"""

from workloads.models import control, filters, fitting, images, inference, sciences, simulation

AREAS = {
    "models of images": images.WORKLOADS,
    "filters": filters.WORKLOADS,
    "inference": inference.WORKLOADS,
    "simulation": simulation.WORKLOADS,
    "control": control.WORKLOADS,
    "fitting": fitting.WORKLOADS,
    "sciences": sciences.WORKLOADS,
}
