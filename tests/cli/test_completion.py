"""What a shell is told when the user presses the tabulator."""

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from linkfield.cli import main


def offered(*args, incomplete=""):
    complete = ShellComplete(main, {}, "linkfield", "_LINKFIELD_COMPLETE")
    return [item.value for item in complete.get_completions(list(args), incomplete)]


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", ["complete -o nosort -F", "bash_complete"]),
        ("zsh", ["#compdef linkfield", "zsh_complete"]),
        ("fish", ["complete --no-files --command linkfield", "fish_complete"]),
    ],
)
def test_scripts_ask_linkfield_itself(shell, words):
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    for word in (*words, "_LINKFIELD_COMPLETE"):
        assert word in result.stdout


def test_the_bash_script_is_answered(tmp_path):
    env = {
        "_LINKFIELD_COMPLETE": "bash_complete",
        "COMP_WORDS": "linkfield constraints re",
        "COMP_CWORD": "2",
    }
    result = CliRunner().invoke(main, [], env=env, prog_name="linkfield")
    assert result.output.split() == ["plain,repair"]


def test_commands_options_and_choices_are_offered():
    assert {"constraints", "bench", "completion", "demo"} <= set(offered())
    assert offered(incomplete="constr") == ["constraints"]
    assert offered("constraints") == ["check", "close", "repair", "sample"]
    assert "--clusters" in offered("constraints", "check", "pairs.csv", incomplete="--")
    assert offered("bench", "--size") == ["small", "medium", "large"]
    assert offered("constraints", "check", "--merge", incomplete="s") == ["sum"]
    assert offered("completion", incomplete="z") == ["zsh"]


def test_another_shell_is_a_mistake():
    assert CliRunner().invoke(main, ["completion", "csh"]).exit_code == 2
