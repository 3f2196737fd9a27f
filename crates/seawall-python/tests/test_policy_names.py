"""Policies that the study calls something are called so in Python, and are found by it."""

import pytest

import seawall


@pytest.fixture(scope="module")
def named(demo, tmp_path_factory):
    text = (demo / "study.toml").read_text().replace('"trial.csv"', f'"{demo}/trial.csv"')
    text = text.replace('action = "treat"\n', 'action = "treat"\nname = "both drugs"\n')
    path = tmp_path_factory.mktemp("named") / "study.toml"
    path.write_text(text)
    return path


def test_names_are_the_studys(program, named):
    study = seawall.Study.from_file(named)
    found = study.evaluate(splits=0)
    assert [p.name for p in found.policies] == ["uniform", "both drugs", "constant:control"]
    assert found.to_json() + "\n" == program("evaluate", named, "--splits", 0, "--json")
    again = study.evaluate(policy=["both drugs", "uniform"], splits=0)
    assert again.policies[0].name == "both drugs"
    assert again.policies[0].results[0].value == found.policies[1].results[0].value


def test_reports_are_the_same_bytes(program, named, tmp_path):
    program("report", named, "--no-learn", "--splits", 0, "--out", tmp_path / "a.html")
    seawall.Study.from_file(named).report(tmp_path / "b.html", learn=[], splits=0)
    page = (tmp_path / "a.html").read_bytes()
    assert page == (tmp_path / "b.html").read_bytes() and b"<bdi>both drugs</bdi>" in page


def test_what_is_no_name_is_refused(named, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(named.read_text().replace('"both drugs"', '""'))
    with pytest.raises(seawall.SeawallError, match='"policy.name": is empty'):
        seawall.Study.from_file(path)
    with pytest.raises(seawall.SeawallError, match='or "both drugs"'):
        seawall.Study.from_file(named).evaluate(policy="both")
