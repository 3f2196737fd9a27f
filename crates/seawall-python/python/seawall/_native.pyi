from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Progress = Callable[[str], object]
# What is asked, by name.
_Options = dict[str, Any]

__all__ = [
    "ConfigError",
    "Declaration",
    "Evaluation",
    "InputError",
    "Learned",
    "NumericError",
    "SeawallError",
    "Stopped",
    "Study",
    "Table",
    "__version__",
    "after_fork",
    "backtest",
    "compare",
    "curve",
    "demo",
    "describe",
    "distance",
    "evaluate_policy",
    "frame",
    "group_query",
    "grouped",
    "has_exact_curve",
    "history",
    "levels",
    "probabilities",
    "transfer",
    "valued_by_group",
    "with_history",
    "with_known",
    "with_past",
    "words",
    "worst_case",
]
__version__: str

class SeawallError(Exception): ...
class InputError(SeawallError): ...
class ConfigError(SeawallError): ...
class NumericError(SeawallError): ...
class Stopped(SeawallError): ...

@final
class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Declaration:
    @staticmethod
    def of_arguments(
        arguments: dict[str, Any], folder: str | PathLike[str], note: str
    ) -> Declaration: ...
    @staticmethod
    def of_dict(study: Mapping[str, Any], folder: str | PathLike[str]) -> Declaration: ...
    def names(self) -> list[str]: ...
    def with_known(study: Study, known: object | None, size: object | None) -> Study: ...
def with_history(
    study: Study,
    *,
    by: list[str],
    path: str | PathLike[str] | None,
    least: float | None,
    in_time: bool | None,
    each: str | None,
    half_life: float | None,
) -> Study: ...
def history(study: Study) -> tuple[list[str], bool]: ...
def group_query(
    study: Study, name: str, dialect: str, table: str, columns: list[str]
) -> str: ...
def grouped(
    study: Study, data: object | None, threads: int | None, progress: _Progress | None
) -> Study: ...
def with_past(
    study: Study,
    data: object,
    name: str,
    counted: bool,
    threads: int | None,
    progress: _Progress | None,
) -> Study: ...
def transfer(
    study: Study,
    *,
    policy: list[str],
    level: float,
    method: str | None,
    compare: bool,
    threads: int | None,
    progress: _Progress | None,
) -> str: ...
def valued_by_group(
    study: Study,
    learned: Learned,
    *,
    level: float,
    threads: int | None,
    progress: _Progress | None,
) -> Learned: ...
def backtest(
    study: Study,
    *,
    policy: list[str],
    level: float,
    threads: int | None,
    progress: _Progress | None,
) -> str: ...
def describe(
    study: Study, toward: Study, columns: list[str], means: bool, at_least: int
) -> tuple[str, str]: ...
def compare(
    study: Study,
    *,
    policy: list[str],
    sets: list[str],
    group: str | None,
    containing: bool,
    threads: int | None,
    progress: _Progress | None,
) -> str: ...
def demo() -> tuple[str, str]: ...
def after_fork() -> None: ...
