"""The demonstration that ``./dev demo`` runs: private training with export to C, then ragged training through ``mask``."""

from __future__ import annotations

from pathlib import Path

import dp_digits
import ragged_rnn


def main() -> None:
    print("1. Differentially private training: per-example gradients by vmap(grad)")
    digits = dp_digits.run(Path(__file__).with_name("output"))
    print("\n2. Ragged training: lines of every length through mask, one compile")
    text = ragged_rnn.run()
    assert digits["accuracy"] >= 0.85, digits
    assert digits["epsilon"] <= 8.0, digits
    assert digits["c_difference"] < 1e-5, digits
    assert text["compiles"] == 1 and text["last"] < text["first"], text
    print("\nAll checks of the demonstration hold.")


if __name__ == "__main__":
    main()
