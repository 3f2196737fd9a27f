"""Off-policy evaluation and learning that survives a change of population.

A log has a *context*, an *action* and an *outcome* in each row. What would another decision rule have
cost, in a population that is not the one in the log? The answer is the worst case over every
population within a stated distance, exactly, with bounds that were proved.

>>> import seawall
>>> study = seawall.demo()
>>> found = study.evaluate(policy=["uniform", "constant:treat"], radius=0.01)
>>> round(found.policies[1].results[0].value, 6)
0.433516
>>> found.direction
'lower is better'

How much of that may be noise, in words to quote:

>>> print(found.policies[1].results[0].claims[0].sentence)
No population within 0.01 of the data costs more than 0.54 under constant:treat (95% confidence, assuming that no three columns act together beyond the model)

Two policies in one and the same population:

>>> found.comparison("uniform", "treat").verdicts
['undecided']

Every result is a frame of pandas or polars, and is shown with its curve in notebooks:

>>> list(found.to_pandas().columns)[:3]
['policy', 'set', 'radius']

`Study` is the way in for tables and files; `worst_case`, `curve`, `distance` and `evaluate_policy` for
arrays; `seawall.sklearn` has an estimator and `seawall.plot` pictures.
"""

from typing import TYPE_CHECKING, Any

from seawall._demo import demo, demo_data
from seawall._elsewhere import SeawallWarning
from seawall._native import (
    ConfigError,
    InputError,
    NumericError,
    SeawallError,
    Stopped,
    __version__,
)
from seawall._tables import Table
from seawall.arrays import (
    Curve,
    Distance,
    PolicyValue,
    WorstCase,
    curve,
    distance,
    evaluate_policy,
    worst_case,
)
from seawall.learned import Learned, Policy
from seawall.options import History, Splits, Target
from seawall.results import Check, Comparison, Evaluation, Radius, SampleDistance
from seawall.study import Study

if TYPE_CHECKING:
    from seawall.compared import Compared
    from seawall.explanations import Explanation
    from seawall.transfers import Backtest, Description, Transfers

__all__ = [
    "Backtest",
    "Check",
    "Compared",
    "Comparison",
    "ConfigError",
    "Curve",
    "Description",
    "Distance",
    "Evaluation",
    "Explanation",
    "History",
    "InputError",
    "Learned",
    "NumericError",
    "Policy",
    "PolicyValue",
    "Radius",
    "SampleDistance",
    "SeawallError",
    "SeawallWarning",
    "Splits",
    "Stopped",
    "Study",
    "Table",
    "Target",
    "Transfers",
    "WorstCase",
    "__version__",
    "curve",
    "demo",
    "demo_data",
    "distance",
    "evaluate_policy",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    """What fewer people ask for is made when they do: an import stays quick."""
    if name in ("Backtest", "Description", "Transfers"):
        from seawall import transfers

        return getattr(transfers, name)
    if name == "Compared":
        from seawall.compared import Compared

        return Compared
    if name == "Explanation":
        from seawall.explanations import Explanation

        return Explanation
    raise AttributeError(f"module 'seawall' has no attribute {name!r}")
