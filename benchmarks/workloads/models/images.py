"""Models of images: value, gradient and update."""

from judge import Workload

WORKLOADS: list[Workload] = []
