"""Inference: filters, samplers and evidence."""

from judge import Workload

WORKLOADS: list[Workload] = []
