"""Where a load is fixed."""

from __future__ import annotations

import numpy as np
import pytest

from inertica.errors import InputError
from inertica.robot.flange import flange
from inertica.robot.load import load

URDF = """<robot name="a"><link name="base"/><link name="arm"/><link name="tool0"/>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="t" type="fixed"><parent link="arm"/><child link="tool0"/><origin xyz="0 0 0.2" rpy="0 1.5707963 0"/></joint></robot>
"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    with pytest.warns(match="has mass 0"):
        return load(tmp_path / "arm.urdf")


@pytest.mark.filterwarnings("ignore:.*has mass 0")
def test_a_frame_of_the_model_file(arm) -> None:
    found = flange(arm)
    assert found.name == "tool0" and found.body.position == (0.0, 0.0, 0.2)
    assert np.allclose(np.array(found.body.rotation)[:, 2], [1.0, 0.0, 0.0])
    assert flange(arm, "arm").body.at_link_frame
    with pytest.raises(InputError, match="no frame 'tool1' that rides on a link; did you mean 'tool0'"):
        flange(arm, "tool1")


def test_a_given_pose_or_the_last_link() -> None:
    tx40 = load("tx40")
    assert flange(tx40).body.link == 5 and flange(tx40).body.at_link_frame
    found = flange(tx40, (0.0, 0.1, 0.2, 0.0, 0.0, np.pi / 2)).body
    assert found.position == (0.0, 0.1, 0.2) and np.allclose(np.array(found.rotation)[:, 0], [0.0, 1.0, 0.0])
    with pytest.raises(InputError, match="4 numbers were given"):
        flange(tx40, (0.0, 0.0, 0.0, 1.0))


def test_the_card_says_it(tmp_path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("model: tx40\npayload: {link: 6, position: [0, 0, 0.1]}\n")
    assert flange(load(card)).body.position == (0.0, 0.0, 0.1)
