"""Each public function of arrays with ragged arguments, as `mask_table.py` and `mask_cases.toml` say; and the page that says so."""

from __future__ import annotations

import warnings

import mask_table
import pytest
from mask_table import Call, Row

ROWS = mask_table.rows()
WORKING = [row.path for row in ROWS.values() if row.calls and not row.refused]
REFUSED = [row.path for row in ROWS.values() if row.refused]


def named(path: str) -> Row:
    return ROWS[path]


@pytest.mark.parametrize("path", WORKING)
def test_a_masked_call_is_the_call_of_arrays_without_padding(path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for text in named(path).calls:
            assert mask_table.tried(Call(text, named(path).function)), f"no length for which {text} has a result"


@pytest.mark.parametrize("path", REFUSED)
def test_what_depends_on_a_length_in_its_number_of_results_says_so(path: str) -> None:
    for text in named(path).calls:
        assert mask_table.refuses(Call(text, named(path).function))


def test_every_function_has_a_row() -> None:
    assert sorted(ROWS) == sorted(mask_table.expected())


def test_the_page_is_up_to_date() -> None:
    message = "docs/masks.md is out of date: run python tests/shared/mask_table.py --write"
    assert mask_table.PAGE.read_text() == mask_table.page(), message


def test_nearly_every_function_works_or_says_why_not() -> None:
    functions = [row for row in ROWS.values() if not row.none]
    done = [row for row in functions if row.refused or row.calls]
    assert len(done) >= 0.98 * len(functions)


def test_a_wrong_mask_is_found() -> None:
    """The check can fail: on values, on lengths, and on gradients of padding."""
    wrong = Call("v + f", 0.0)
    wanted = wrong(*wrong.exact(3))
    found = mask_table.leaves(mask_table.ct.mask(wrong)(*wrong.ragged(3)))
    with pytest.raises(AssertionError, match="shape"):
        mask_table.compare("lengths", found, wrong(*wrong.exact(1)))
    with pytest.raises(AssertionError, match="not\n"):
        mask_table.compare("values", found, [wanted[0] + 1])
    with pytest.raises(AssertionError, match="padding is not 0"):
        mask_table.compare("padding", wrong.ragged(3), wrong.exact(3), zero_padding=True)
