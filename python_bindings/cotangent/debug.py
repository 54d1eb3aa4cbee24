"""Running without transforms' machinery, for looking at programs."""

from __future__ import annotations

from cotangent.ir import slot_matrix

__all__ = ["slot_matrix"]
