"""Logged policies with the Open Bandit Pipeline's names, against its published definitions."""

import numpy as np
import pytest

import seawall


def logged(rows=400, actions=3, slots=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (rows, 2)).astype(float)
    chances = rng.dirichlet(np.ones(actions) * 3, rows)
    a = np.array([rng.choice(actions, p=p) for p in chances])
    r = (rng.random(rows) < 0.2 + 0.2 * (a == 1) * (x[:, 0] > 0)).astype(float)
    dist = rng.dirichlet(np.ones(actions), (rows, slots)).transpose(0, 2, 1)
    q = rng.random((rows, actions, slots))
    where = rng.integers(0, slots, rows)
    return x, a, r, chances[np.arange(rows), a], dist, q, where


@pytest.mark.parametrize("slots", [1, 3])
def test_estimates_are_the_definitions(slots):
    x, a, r, p, dist, q, where = logged(slots=slots)
    found = seawall.evaluate_policy(
        context=x, action=a, reward=r, pscore=p, action_dist=dist, position=where,
        estimated_rewards_by_reg_model=q,
    )
    i = np.arange(len(a))
    pi, model = dist[i, :, where], q[i, :, where]
    w = pi[i, a] / p
    dm = (pi * model).sum(axis=1)
    assert found.direction == "higher is better"
    assert np.isclose(found.ips.value, (w * r).mean(), rtol=1e-12)
    assert np.isclose(found.snips.value, (w * r).sum() / w.sum(), rtol=1e-12)
    assert np.isclose(found.dm.value, dm.mean(), rtol=1e-12)
    assert np.isclose(found.dr.value, (dm + w * (r - model[i, a])).mean(), rtol=1e-12)
    assert np.isclose(found.effective_sample_size, w.sum() ** 2 / (w**2).sum(), rtol=1e-9)


def test_worst_cases_bound_the_direct_method_in_the_right_direction():
    x, a, r, p, dist, q, _ = logged()
    reward = seawall.evaluate_policy(x, a, r, p, dist, estimated_rewards_by_reg_model=q, radius=[0.0, 0.05, 0.2])
    values = [w.value for w in reward.results]
    assert np.isclose(values[0], reward.dm.value) and values[0] > values[1] > values[2]
    cost = seawall.evaluate_policy(x, a, None, p, dist, cost=r, estimated_rewards_by_reg_model=q, radius=[0.0, 0.05])
    assert cost.results[0].value < cost.results[1].value and cost.direction == "lower is better"


def test_a_model_is_fitted_if_none_is_given():
    x, a, r, p, dist, _, _ = logged()
    found = seawall.evaluate_policy(x, a, r, p, dist[:, :, 0], radius=0.1)
    assert 0 < found.dm.value < 1 and found.results[0].status == "optimal"
    assert "snips" in repr(found) and found.to_frame().num_rows == 5


def test_actions_never_taken_need_only_predictions():
    x, a, r, p, dist, q, _ = logged()
    wide = np.concatenate([dist[:, :, 0], np.zeros((400, 1))], axis=1)
    more = np.concatenate([q[:, :, 0], np.ones((400, 1))], axis=1)
    found = seawall.evaluate_policy(x, a, r, p, wide, estimated_rewards_by_reg_model=more)
    same = seawall.evaluate_policy(x, a, r, p, dist, estimated_rewards_by_reg_model=q)
    assert np.isclose(found.dr.value, same.dr.value) and np.isclose(found.ips.se, same.ips.se)


def test_text_contexts_are_nominal():
    rng = np.random.default_rng(1)
    s, a = rng.choice(["a", "b", "c"], 600), rng.integers(0, 2, 600)
    r = np.select([s == "a", s == "b"], [1.0, 0.5], 0.0)
    given = dict(action=a, reward=r, pscore=np.full(600, 0.5), action_dist=np.full((600, 2), 0.5),
                 estimated_rewards_by_reg_model=np.column_stack([r, r]), radius=0.05)
    values = [seawall.evaluate_policy({"s": t}, **given).results[0].value
              for t in (s, np.select([s == "b", s == "c"], ["c", "b"], s))]
    by_hand = seawall.worst_case(r, None, {"s": s}, radius=0.05, reward=True).value
    assert np.isclose(values[0], values[1]) and np.isclose(values[0], by_hand)


@pytest.mark.parametrize("change, words", [
    ({"reward": None}, "reward"),
    ({"pscore": None}, "pscore"),
    ({"action": [0.5] * 400}, "whole numbers"),
    ({"action": [9] * 400}, "beyond the 3 actions"),
    ({"pscore": [0.0] * 400}, "pscore[0] is 0.0"),
    ({"action_dist": np.ones((400, 3))}, "sum to 1"),
    ({"action_dist": np.ones((400, 3, 2)) / 3}, "position"),
    ({"action_dist": np.ones((3, 3)) / 3}, "rows; expected 400"),
    ({"estimated_rewards_by_reg_model": np.ones((400, 2))}, "shape"),
    ({"context": np.ones((3, 2))}, "rows; expected 400"),
    ({"action": np.zeros(400)}, "never taken"),
    ({"action_dist": np.ones((400, 3, 1)) / 3, "position": np.full(400, 0.5)}, "whole numbers"),
])
def test_bad_logs(change, words):
    x, a, r, p, dist, _, _ = logged()
    asked = dict(context=x, action=a, reward=r, pscore=p, action_dist=dist[:, :, 0]) | change
    with pytest.raises(seawall.SeawallError) as caught:
        seawall.evaluate_policy(**asked)
    assert words in str(caught.value), caught.value
