"""Completion scripts: what a shell offers is what the parsers have."""

import shutil
import subprocess

import pytest

from inertica.cli.completion import SHELLS, commands
from inertica.cli.main import COMMANDS, command_parser, main
from inertica.estimators.registry import METHODS


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    found, folder = list(commands()), tmp_path_factory.mktemp("completion")
    for shell, write in SHELLS.items():
        (folder / shell).write_text(write(found))
    return folder


def offered(scripts, *words):
    """What bash offers for the last of the words."""
    asked = " ".join(f"'{word}'" for word in words)
    call = f"COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _inertica; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    script = f"source '{scripts}/bash'; {call}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=scripts)
    return set(done.stdout.split())


def test_bash_offers_commands_options_and_values(scripts):
    assert offered(scripts, "inertica", "") >= set(COMMANDS)
    assert offered(scripts, "inertica", "check-") == {"check-model"}
    for name in ("identify", "campaign", "show"):
        assert offered(scripts, "inertica", name, "--") == {
            o for o in command_parser(name)._option_string_actions if o[:2] == "--"
        }
    assert offered(scripts, "inertica", "identify", "--method", "pc-") == {name for name in METHODS if name.startswith("pc-")}
    assert offered(scripts, "inertica", "show", "scara") == {"scara2", "scara4"}
    assert offered(scripts, "inertica", "completion", "b") == {"bash"}


def test_bash_offers_files_where_files_may_stand(scripts):
    (scripts / "arm of mine.urdf").touch()
    assert "mine.urdf" in offered(scripts, "inertica", "identify", "arm")  # printf splits what bash keeps together
    assert "mine.urdf" in offered(scripts, "inertica", "check", "tx40", "--json", "arm")


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_have_every_option_and_are_well_formed(shell, scripts):
    text = (scripts / shell).read_text()
    for name in COMMANDS:
        for option in command_parser(name)._option_string_actions:
            fish = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            assert (fish if shell == "fish" else option) in text
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(scripts / shell)], check=True)


def test_the_command_prints_the_script(scripts, capsys):
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == (scripts / "bash").read_text()
    assert main(["completion", "ksh"]) == 2
    assert "bash" in capsys.readouterr().err
