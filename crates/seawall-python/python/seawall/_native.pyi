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
    def count_query(self, name: str, dialect: str, table: str, columns: list[str]) -> str: ...
    def read(
        self,
        data: object | None,
        name: str | PathLike[str],
        *,
        counted: bool,
        threads: int | None,
        progress: _Progress | None,
        memory: str | None,
    ) -> Study: ...

@final
class Study:
    @staticmethod
    def from_file(
        path: str | PathLike[str],
        threads: int | None = None,
        progress: _Progress | None = None,
        memory: str | None = None,
    ) -> Study: ...
    def text(self) -> str: ...
    def direction(self) -> str: ...
    def actions(self) -> list[str]: ...
    def shown(self) -> tuple[float, list[tuple[str, str]]]: ...
    def contexts(self) -> dict[str, Any]: ...
    def outcomes(self) -> _Floats: ...
    def with_outcomes(self, values: _Floats) -> Study: ...
    def with_model(self, learner: object, name: str) -> Study: ...
    def check(self) -> str: ...
    def explain(self, action: str | None = None) -> str: ...
    def target_columns(self) -> list[str]: ...
    def toward(
        self,
        path: str | PathLike[str] | None = None,
        data: object | None = None,
        name: str = "target",
        threads: int | None = None,
        progress: _Progress | None = None,
    ) -> Study: ...
    def evaluate(
        self, asked: _Options, *, threads: int | None, progress: _Progress | None
    ) -> Evaluation: ...
    def learn(
        self, asked: _Options, *, threads: int | None, progress: _Progress | None
    ) -> Learned: ...
    def radius(
        self,
        splits: int,
        seed: int,
        threads: int | None,
        progress: _Progress | None,
    ) -> tuple[str, list[str]]: ...
    def distance(
        self, threads: int | None, progress: _Progress | None
    ) -> str: ...
    def report(
        self,
        path: str | PathLike[str],
        asked: _Options,
        *,
        grouped: Study | None,
        threads: int | None,
        progress: _Progress | None,
    ) -> None: ...

@final
class Evaluation:
    def json(self) -> str: ...
    def curve(self, policy: int, cost: int) -> tuple[_Floats, _Floats, _Floats, float]: ...
    def marginals(
        self, policy: int, result: int
    ) -> list[tuple[str, list[str], list[float], list[float]]]: ...
    def difference_curve(
        self, comparison: int, cost: int
    ) -> tuple[_Floats, _Floats, _Floats, float]: ...
    def difference_marginals(
        self, comparison: int, result: int
    ) -> list[tuple[str, list[str], list[float], list[float]]]: ...
    def sentences(self) -> list[str]: ...
    def noise(self) -> list[list[str | None]]: ...
    def levels(self) -> list[Evaluation | None]: ...
    def words(self, policy: int, result: int) -> list[str]: ...

@final
class Learned:
    def json(self) -> str: ...
    def policy(self) -> str: ...
    def words(self) -> list[str]: ...
    def traces(self) -> tuple[list[str], list[list[tuple[int, float, list[float]]]]]: ...

def worst_case(
    values: _Floats,
    weights: _Floats,
    names: list[str],
    columns: list[_Floats],
    kinds: list[str],
    labels: list[list[str] | None],
    scales: list[float] | None,
    radius: float,
    set_name: str,
    eta: float | None,
    reward: bool,
    threads: int | None,
) -> dict[str, Any]: ...
def curve(
    values: _Floats,
    weights: _Floats,
    names: list[str],
    columns: list[_Floats],
    kinds: list[str],
    labels: list[list[str] | None],
    scales: list[float] | None,
    set_name: str,
    eta: float | None,
    reward: bool,
    tolerance: float,
    threads: int | None,
) -> tuple[_Floats, _Floats, _Floats, float]: ...
def has_exact_curve(set_name: str, eta: float | None) -> bool: ...
def distance(
    names: list[str],
    kinds: list[str],
    labels: list[list[str] | None],
    scales: list[float] | None,
    columns: list[_Floats],
    other_columns: list[_Floats],
    weights: _Floats,
    other_weights: _Floats,
    threads: int | None,
) -> tuple[float, float, float, str, list[float]]: ...
def evaluate_policy(
    names: list[str],
    columns: list[_Floats],
    kinds: list[str],
    labels: list[list[str] | None],
    actions: npt.NDArray[np.int64],
    outcomes: _Floats,
    pscore: _Floats,
    action_dist: _Floats,
    estimated: _Floats | None,
    radii: list[float],
    set_name: str,
    eta: float | None,
    reward: bool,
    threads: int | None,
) -> str: ...
def levels(texts: list[str | None]) -> tuple[_Floats, list[str]]: ...
def probabilities(policy: str, names: list[str], columns: list[_Floats]) -> _Floats: ...
def words(policy: str) -> list[str]: ...
def frame(columns: dict[str, Any]) -> Table: ...
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
