"""Rows without an outcome: refused, left out or counted as 0, as the study says; and means of binned columns."""

import pandas as pd
import pytest

import seawall

ROWS = 1200
FRAME = pd.DataFrame(
    {
        "z": [[0, 0, 0, 0, 0, 0, 0, 10, 10, 20][k % 10] for k in range(ROWS)],
        "arm": [("treat", "control")[(k // 2) % 2] for k in range(ROWS)],
        "dead": [("yes", "no", "no")[(k // 4) % 3] for k in range(ROWS)],
    }
)
LACKING = FRAME.assign(dead=FRAME.dead.where([(k // 2) % 2 == 1 or (k // 12) % 5 > 1 for k in range(ROWS)]))


def study(frame, **more):
    return seawall.Study(
        frame,
        context={"z": {"kind": "numeric", "bin": 10}},
        action="arm",
        cost={"dead": {"yes": 1}},
        propensity={"design": {"treat": 0.5, "control": 0.5}},
        policy="constant:treat",
        **more,
    )


def value(study):
    return study.evaluate(splits=0).policies[0].nominal.dm.value


def test_a_missing_outcome_is_refused_with_the_ways_out():
    with pytest.raises(seawall.InputError) as refused:
        study(LACKING)
    told = 'row 1, column "dead": the value is missing, in 240 rows in all'
    assert told in str(refused.value)
    assert 'try missing_outcome="drop" or missing_outcome=0' in str(refused.value)
    with pytest.raises(seawall.ConfigError, match='expected "drop"'):
        study(LACKING, missing_outcome="zero")


@pytest.mark.parametrize("word", ["drop", {"dead": "drop"}])
def test_rows_are_left_out_by_a_word(word):
    found = study(LACKING, missing_outcome=word)
    assert found.check().left_out.no_outcome == 240
    assert value(found) == pytest.approx(value(study(LACKING.dropna())), rel=1e-12)


@pytest.mark.parametrize("word", [0, {"dead": 0}])
def test_they_count_as_0_by_a_word(word):
    with pytest.warns(seawall.SeawallWarning, match="240 rows have no value"):
        found = value(study(LACKING, missing_outcome=word))
    assert found == pytest.approx(value(study(LACKING.fillna("no"))), rel=1e-12)


def test_the_mean_of_a_binned_column_is_that_of_its_numbers():
    found = study(FRAME).evaluate(splits=0, target=seawall.Target(known={"z": {"mean": 4}}))
    (fact,) = found.balance.facts
    assert fact.before == pytest.approx(FRAME.z.mean()) and fact.after == pytest.approx(4)
    less = study(FRAME).evaluate(splits=0, target=seawall.Target(known={"z": {"mean": 2}})).balance
    assert less.facts[0].after == pytest.approx(2)
    assert less.columns[0].before == pytest.approx((2 - 4) / FRAME.z.std(ddof=0))
