"""How many runs there were."""

from collections.abc import Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trials


def answer(trials: Trials, _options: Mapping[str, Any]) -> Answered:
    """One claim, which is always decided."""
    sentence = f"{len(trials.trials)} runs were made."
    return Answered(claims=[Claim(sentence=sentence, is_decided=True)])


ANSWER = Answer(id="runs-made", title="Runs that were made", answer=answer)
