"""``dbdyno explain``: why a run's numbers are what they are, worked out anew from its folder."""

import msgspec

from dbdyno import store
from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_result
from dbdyno.explain.explain import explain as explained
from dbdyno.explain.told import told_in_full
from dbdyno.run.tools import engine_tools

app = command(
    "explain",
    "dbdyno explain                    why the last run was not faster",
    "dbdyno explain 20261120-2142 --json",
)


@app.default
def explain(run: str = "last", /, *, json: Json = False) -> int:
    """Say what limited a run: findings with their evidence, and what no finding accounts for.

    The rules are asked anew, also about runs that still go on or were interrupted.

    Parameters
    ----------
    run
        Its name, the unique beginning or end of it, a path, or last.
    """
    recording = store.open_run(run).recording()
    explanation = explained(recording, engine_tools().histograms)
    if json:
        run_id = {"run_id": recording.record.run_id}
        print_json(run_id | msgspec.structs.asdict(explanation))
    else:
        print_result("\n".join(told_in_full(explanation)))
    return Exit.OK
