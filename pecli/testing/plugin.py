"""The assertions as fixtures of pytest, found by its entry point; nothing is loaded until a test asks for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pecli import testing


@pytest.fixture
def assert_table() -> Callable[..., Any]:
    """:func:`pecli.testing.assert_table`."""
    return testing.assert_table


@pytest.fixture
def assert_applied() -> Callable[..., Any]:
    """:func:`pecli.testing.assert_applied`."""
    return testing.assert_applied
