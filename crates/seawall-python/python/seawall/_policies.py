"""Policies as they are given: typed, in files, or learned."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from seawall import _native
from seawall.learned import Policy

PathText = Union[str, "os.PathLike[str]"]
PolicyLike = Union[str, "os.PathLike[str]", Policy]


def listed(value: Any) -> list[Any]:
    """One or several, as a list."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike, Policy)) or not isinstance(value, (Sequence, np.ndarray)):
        return [value]
    return list(value)


def policies(value: Any, argument: str = "policy") -> list[str]:
    """Policies as the native side takes them: as typed, or the JSON of saved ones."""
    texts = []
    for policy in listed(value):
        if isinstance(policy, Policy):
            texts.append(policy.json)
        elif isinstance(policy, (str, os.PathLike)):
            texts.append(os.fspath(policy))
        else:
            raise _native.ConfigError(
                f"{argument} {policy!r}: expected uniform, behaviour, greedy, constant:ACTION, a file or "
                "a seawall.Policy"
            )
    return texts
