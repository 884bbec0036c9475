"""Completion scripts, run in the shells they are for: what a shell offers is what the parsers have."""

import subprocess

import pytest

from inertica.cli.completion import SHELLS, commands
from inertica.cli.main import COMMANDS, command_parser, main
from inertica.estimators.registry import METHODS
from tabs import Home, missing


@pytest.fixture(scope="module")
def scripts():
    found = list(commands())
    return {shell: write(found) for shell, write in SHELLS.items()}


@pytest.fixture(params=SHELLS)
def home(request, scripts, tmp_path):
    if why := missing(request.param):
        pytest.skip(why)
    made = Home.made(tmp_path, request.param, scripts[request.param])
    (tmp_path / "arm of mine.urdf").touch()
    return made


def test_tab_completes_commands_options_values_and_files(home):
    """Typed into the shell itself, with the script where the help says: what the program then gets."""
    typed = {
        "inertica check-\t": ["check-model"],
        "inertica identify arm\t --meth\tpc-did\t": ["identify", "arm of mine.urdf", "--method", "pc-didim"],
        "inertica compare tx40 --methods=olo\t": ["compare", "tx40", "--methods=oloe"],
        "inertica completion ba\t": ["completion", "bash"],
        "inertica --ver\t": ["--version"],
    }
    assert home.typed(list(typed)) == list(typed.values())


def test_a_shell_offers_what_the_parsers_have(home):
    asked = {
        "inertica ": {*COMMANDS} | ({"--help", "--version"} if home.shell == "bash" else set()),
        "inertica identify --": {o for o in command_parser("identify")._option_string_actions if o.startswith("--")},
        "inertica report check --": {o for o in command_parser("report")._option_string_actions if o.startswith("--")},
        "inertica identify --method pc-": {name for name in METHODS if name.startswith("pc-")},
        "inertica completion ": set(SHELLS),
    }
    offered = home.offered(list(asked))
    if home.shell == "zsh":  # has no options at an empty word, or all
        offered[0] -= {"--help", "--version"}
    assert offered == list(asked.values())


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_have_every_option_and_are_well_formed(shell, scripts, tmp_path):
    for name in COMMANDS:
        for option in command_parser(name)._option_string_actions:
            fish = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            assert (fish if shell == "fish" else option) in scripts[shell]
    if not missing(shell):
        (tmp_path / shell).write_text(scripts[shell])
        subprocess.run([shell, "-n", str(tmp_path / shell)], check=True)


def test_the_command_prints_the_script(scripts, capsys):
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == scripts["bash"]
    assert main(["completion", "ksh"]) == 2
    assert "bash" in capsys.readouterr().err
