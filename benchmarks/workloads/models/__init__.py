"""Whole models and programs, as their authors write them: a step of training, a simulation, a search. Each module has one area.

Programs are written once for this library and JAX, in the names that both have (`library.xp`, `library.lax`, `library.module`), and again for torch where
torch has a way of its own. None may be slower than the best peer.
"""

from workloads.models import (
    control,
    filters,
    fitting,
    generative,
    graphs,
    images,
    inference,
    recurrences,
    sciences,
    simulation,
    text,
)

AREAS = {
    "models of images": images.WORKLOADS,
    "models of text": text.WORKLOADS,
    "recurrences and alignments": recurrences.WORKLOADS,
    "generative models": generative.WORKLOADS,
    "models of graphs and sets": graphs.WORKLOADS,
    "filters": filters.WORKLOADS,
    "inference": inference.WORKLOADS,
    "simulation": simulation.WORKLOADS,
    "control": control.WORKLOADS,
    "fitting": fitting.WORKLOADS,
    "sciences": sciences.WORKLOADS,
}
