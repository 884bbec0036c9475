"""Three sentences: numbers of the result in them, the joint that needs more, and a command that runs."""

import shlex
from dataclasses import replace

import pair
from inertica.cli.main import main
from inertica.excitation.files import load_trajectory
from inertica.report.advice import advice, excite_command, needy_joint


def test_each_question_is_answered_in_one_sentence_with_the_numbers_of_the_result():
    result = pair.identified()
    said = advice(result)
    count = list(result.labels.values()).count("determined")
    assert f"{count} of {len(result.labels)}" in said.trust
    for sentence in (said.quality, said.trust, said.next):
        assert sentence.endswith(".") and sentence[0].isupper() and ". " not in sentence
    assert "run2.csv" in said.quality and str(pair.folder()) not in said.quality


def test_the_slow_joint_with_weak_values_is_named():
    result = pair.identified()
    labels = dict.fromkeys(result.labels, "determined") | {"Fv1": "weak", "Fc1": "weak", "Fc2": "weak"}
    slow = replace(result, labels=labels, speeds=(0.6, 2.0))  # the shoulder may turn at 3 rad/s
    assert (
        needy_joint(slow) == 0
        and "joint 1 needs faster motion (it reached 20 % of its 3 rad/s) for Fv1 and Fc1" in advice(slow).next
    )
    fast = replace(slow, speeds=(2.9, 2.0))
    assert "joint 1 needs another motion" in advice(fast).next and "97 %" in advice(fast).next
    sure = replace(result, labels=dict.fromkeys(result.labels, "determined"))
    assert needy_joint(sure) is None and "another motion to check it with" in advice(sure).next


def test_the_command_designs_a_motion(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(excite_command(pair.identified()))
    assert program == "inertica" and words.count("--given") == 1
    assert main([*words, "--seconds", "1", "--harmonics", "3"]) == 2  # the model has no limit for the elbow's speed
    assert "limits: {velocity: [3, ?]}" in capsys.readouterr().err
    (tmp_path / "card.yaml").write_text(f"model: {words[1]}\nlimits: {{velocity: [3, 3]}}\n")
    assert main(["excite", "card.yaml", *words[2:], "--seconds", "1", "--harmonics", "3"]) == 0
    assert load_trajectory(tmp_path / "next.yaml").period == 10.0
    assert "--given" not in excite_command(pair.identified(), positions=False)
    sliced = replace(pair.identified(), logs={"identification": (f"{pair.folder() / 'run1.csv'}@1:3", "memory")})
    assert excite_command(sliced).endswith("run1.csv@1:3")
    capsys.readouterr()
