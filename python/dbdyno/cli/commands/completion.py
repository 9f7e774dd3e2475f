"""``dbdyno completion``: prints the script by which a shell completes commands and options.

The script is made from what the commands declare, and asks dbdyno itself only for names that
change: of runs and workloads.
"""

from typing import Literal

from dbdyno.cli.app import command, make_app
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.output import Exit, print_result

app = command(
    "completion",
    "mkdir -p ~/.local/share/bash-completion/completions ~/.config/fish/completions",
    "dbdyno completion bash > ~/.local/share/bash-completion/completions/dbdyno",
    "dbdyno completion fish > ~/.config/fish/completions/dbdyno.fish",
    "dbdyno completion zsh > ~/.zfunc/_dbdyno        with ~/.zfunc in fpath",
)


@app.default
def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print what makes a shell complete commands, options and names.

    Write it to a file that the shell reads when it starts, again after each new version: making it
    takes a second, because every command is asked for its options.

    Parameters
    ----------
    shell
        bash (with or without bash-completion; source the file in the latter case), zsh or fish.
    """
    print_result(make_app(COMMANDS).generate_completion(prog_name="dbdyno", shell=shell).rstrip())
    return Exit.OK
