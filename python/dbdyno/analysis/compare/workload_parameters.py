"""The parameters that a run's workload was given, other than defaults.

The plan holds the variables that its scripts read. Other parameters of a workload, such as a number
of tables, went into the data and the scripts' texts: they are read from the command. A sysbench
script takes options of its own and declares their defaults in its text. A parameter that equals its
default is left out; the caller supplies the workloads' defaults.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

from dbdyno.model.plan import Plan, Scalar
from dbdyno.model.record import RunRecord

# The default values of each workload's parameters, by the workload's name.
Defaults: TypeAlias = Mapping[str, Mapping[str, str]]
NO_DEFAULTS: Defaults = {}

# Of sysbench's own options, those that a plan holds elsewhere or that change nothing measured.
_NO_WORK = frozenset(
    {"threads", "time", "events", "rate", "warmup_time", "report_interval", "rand_seed"}
    | {"db_ps_mode", "db_driver", "percentile", "validate"}
)
_GENERAL = {
    "rand_type": "special",
    "rand_spec_iter": "12",
    "rand_spec_pct": "1",
    "rand_spec_res": "75",
    "rand_pareto_h": "0.2",
    "rand_zipfian_exp": "0.8",
}
_WORDS = {"": "on", "true": "on", "1": "on", "false": "off", "0": "off"}
# name = {"what it is" .. "in several parts", default, …}, the default a word, number or text.
_DECLARED = re.compile(
    r"""\b(\w+)"?\]?\s*=\s*\{\s*                      # name =, or ["name"] =
        (?:"[^"]*"|'[^']*')(?:\s*\.\.\s*(?:"[^"]*"|'[^']*'))*\s*,\s*
        (true|false|-?[\d.]+|"[^"]*"|'[^']*')\s*[,}]""",
    re.VERBOSE,
)


def workload_parameters(
    record: RunRecord, plan: Plan, defaults: Defaults = NO_DEFAULTS
) -> dict[str, Scalar]:
    """The parameters by name, without those that equal their defaults."""
    of_workload = defaults.get(record.workload, {})
    defined = {
        value.partition("=")[0]: value.partition("=")[2]
        for word, value in pairwise(record.command)
        if word == "--define"
    }
    parameters = {"scale", *of_workload, *defined}
    is_lua = any(script.language == "lua" for script in plan.scripts)
    planned = {  # but for the clients, and what scripts set: these do not describe the data
        name: value
        for name, value in plan.variables.items()
        if value is not None
        and name != "clients"
        and not any(f"\\set {name} " in one.text for one in plan.scripts)
        # A workload's Lua also has variables that follow from parameters, or are drawn for the run.
        and (name in parameters or not is_lua)
    }
    given_parameters = _unlike(defined, of_workload)
    return {**given_parameters, **_script_options(plan), **planned}


def _script_options(plan: Plan) -> dict[str, str]:
    """A sysbench script's options that differ from the defaults it declares."""
    if plan.lua is None:
        return {}
    given = {name: text for name, text in plan.lua.arguments.items() if name not in _NO_WORK}
    texts = [*plan.lua.modules.values(), *(script.text for script in plan.scripts)]
    declared = {
        found[1]: found[2].strip("\"'") for text in texts for found in _DECLARED.finditer(text)
    }
    return _unlike(given, _GENERAL | declared)


def _unlike(given: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in given.items()
        if name not in defaults or not _is_alike(text, defaults[name])
    }


def _is_alike(text: str, other: str) -> bool:
    """Whether two words say the same: ``1e4`` and ``10000``, or a bare flag and ``on``."""
    try:
        return float(text) == float(other)
    except ValueError:
        one, another = text.strip().lower(), other.strip().lower()
        return _WORDS.get(one, one) == _WORDS.get(another, another)
