"""The files that start a Ray cluster are what those who read them expect."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import ray
import yaml
from packaging.requirements import Requirement

from tests.fleet.ray import SETTINGS

ROOT = Path(__file__).parent.parent.parent
FILES = ROOT / "integrations/ray"
SCHEMA = Path(ray.__file__).parent / "autoscaler/ray-schema.json"


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FILES / name).read_text())
    return found


def test_the_cluster_launcher_takes_its_file():
    cluster = read("cluster.yaml")
    jsonschema.validate(cluster, json.loads(SCHEMA.read_text()))
    for command in (
        cluster["head_start_ray_commands"][-1],
        cluster["worker_start_ray_commands"][-1],
    ):
        assert "RAY_AUTH_MODE=token" in command
        assert "RAY_worker_niceness=0" in command


def test_kuberay_gets_a_token_a_pod_a_node_and_the_settings():
    """Its own schema is in the operator: this is what the manual says of the file."""
    cluster = read("kuberay.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    spec = cluster["spec"]
    assert spec["authOptions"] == {"mode": "token"}
    (workers,) = spec["workerGroupSpecs"]
    assert workers["minReplicas"] == workers["replicas"] == workers["maxReplicas"]
    pod = workers["template"]
    (apart,) = pod["spec"]["affinity"]["podAntiAffinity"].values()
    assert apart[0]["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert json.loads(json.loads(workers["rayStartParams"]["resources"])) == {"load": 1}
    for group in (spec["headGroupSpec"], workers):
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"].partition(":")[2].startswith(f"{spec['rayVersion']}-py3")
        assert (
            SETTINGS.items() <= {each["name"]: each["value"] for each in container["env"]}.items()
        )
        assert container["resources"]["limits"] == container["resources"]["requests"]


def test_both_have_a_version_of_the_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extra,) = project["optional-dependencies"]["fleet"]
    version = read("kuberay.yaml")["spec"]["rayVersion"]
    assert version in Requirement(extra).specifier
    assert f"=={version}'" in read("cluster.yaml")["setup_commands"][0]
