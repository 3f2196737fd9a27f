"""The direct method in a target, against scikit-learn's own trees averaged over it."""

import numpy as np
import pandas as pd
import pytest
import seawall
from sklearn.tree import DecisionTreeRegressor


def frames(seed):
    """A log, and a target with numbers that the log has, has between, and does not have."""
    random = np.random.default_rng(seed)
    rows = 800
    log = pd.DataFrame({
        "age": random.integers(20, 80, rows),
        "dose": np.round(random.uniform(0, 5, rows), 1),
        "arm": random.choice(["a", "b", "c"], rows),
    })
    risk = (log.age > 55) * 1.0 + (log.dose < 2) * 0.5 + (log.arm == "b") * (log.age < 40)
    log["y"] = np.round(risk + random.normal(0, 0.5, rows), 3)
    target = pd.DataFrame({
        "age": random.integers(15, 95, 300) + random.choice([0, 0.5], 300),
        # Not halfway between two doses of the log, where single precision, which scikit-learn's trees
        # use, would decide.
        "dose": np.round(np.round(random.uniform(0, 7, 300), 1) + 0.03, 2),
    })
    return log, target


@pytest.mark.parametrize("seed", range(5))
def test_direct_method_is_the_mean_of_scikit_learns_trees(seed):
    log, target = frames(seed)
    study = seawall.Study(
        log,
        context={"age": "numeric", "dose": "numeric"},
        action="arm",
        cost="y",
        model={"kind": "tree", "max_depth": 4, "min_samples_leaf": 20},
        radius=[0],
    )
    policies = [f"constant:{arm}" for arm in "abc"] + ["uniform"]
    found = study.evaluate(policies, target=target, compare=False)
    columns = ["age", "dose"]
    means = []
    for arm in "abc":
        own = log[log.arm == arm]
        tree = DecisionTreeRegressor(max_depth=4, min_samples_leaf=20, random_state=0)
        means.append(tree.fit(own[columns].to_numpy(), own.y).predict(target[columns].to_numpy()).mean())
    means.append(np.mean(means))
    for policy, mean in zip(found.policies, means):
        assert policy.target.dm.value == pytest.approx(mean, abs=1e-12)
        assert policy.results[0].value == pytest.approx(mean, abs=1e-12)
