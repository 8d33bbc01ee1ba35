"""Which value of a chart a change of a workload is: where its template takes the field from one value, and where it doesn't."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from planner.inventory.helm_value_paths import HelmChart, chart_of, chart_values

ROLLING: dict[str, Any] = {
    "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
}
RECREATE: dict[str, Any] = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
AROUND = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{{{ include "app.fullname" . }}}}
spec:
  replicas: {{{{ .Values.replicas }}}}
{field}
  selector:
    matchLabels: {{app: app}}
  template:
    spec:
      containers:
        - name: app
          resources: {{{{ toYaml .Values.resources | nindent 12 }}}}
"""
WHOLE = {
    "on the line": "  strategy: {{- toYaml .Values.strategy | nindent 4 }}",
    "below": "  strategy:\n    {{- toYaml .Values.strategy | nindent 4 }}",
    "piped": "  strategy:\n    {{- .Values.strategy | toYaml | nindent 4 }}",
    "with": "  {{- with .Values.strategy }}\n  strategy:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}",
    "if": "  {{- if .Values.strategy }}\n  strategy: {{- toYaml .Values.strategy | nindent 4 }}\n  {{- end }}",
    "not indented": "{{- with .Values.strategy }}\n  strategy:\n{{ toYaml . | indent 4 }}\n{{- end }}",
    "Bitnami's": '  strategy: {{- include "common.tplvalues.render" (dict "value" .Values.strategy "context" $) | nindent 4 }}',
    "after a closed if": "  {{- if .Values.paused }}\n  paused: true\n  {{- end }}\n  strategy: {{- toYaml .Values.strategy | nindent 4 }}",
}  # fmt: skip
NOT_KNOWN = {
    "no strategy": "  minReadySeconds: 5",
    "fixed": "  strategy:\n    type: RollingUpdate",
    "a helper": '  strategy: {{- include "app.strategy" . | nindent 4 }}',
    "under another condition": "  {{- if .Values.persistence }}\n  strategy: {{- toYaml .Values.strategy | nindent 4 }}\n  {{- end }}",
    "twice": "  {{- if .Values.a }}\n  strategy: {{- toYaml .Values.b | nindent 4 }}\n  {{- else }}\n  strategy:\n    type: Recreate\n  {{- end }}",
    "in a comment": "  {{- /*\n  strategy: {{- toYaml .Values.strategy | nindent 4 }}\n  */}}",
    "a default": "  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: {{ .Values.surge | default 1 }}\n      maxUnavailable: {{ .Values.gone }}",
    "one number": "  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: {{ .Values.surge }}",
}  # fmt: skip


def chart(field: str, path: str = "templates/deployment.yaml", **files: str) -> HelmChart:
    return chart_of({path: AROUND.format(field=field), **files}, {"Chart.yaml": "name: app\nversion: 1.0.0\n"})


@pytest.mark.parametrize("form", WHOLE)
@pytest.mark.parametrize("patch", [ROLLING, RECREATE])
def test_a_field_that_is_one_value_is_told_whole(form: str, patch: dict[str, Any]) -> None:
    found = chart_values(chart(WHOLE[form]), "app/templates/deployment.yaml", "Deployment", patch)
    assert found.why == ""
    assert yaml.safe_load(found.text) == patch["spec"]


@pytest.mark.parametrize("form", NOT_KNOWN)
def test_a_field_that_other_things_decide_is_not_known(form: str) -> None:
    found = chart_values(chart(NOT_KNOWN[form]), "app/templates/deployment.yaml", "Deployment", ROLLING)
    assert found.text == ""
    assert found.why == "templates/deployment.yaml doesn't take strategy from one value"


def test_numbers_of_values_of_their_own_are_told_each() -> None:
    numbers = "  strategy:\n    type: {{ .Values.rollout.type }}\n    rollingUpdate:\n      maxSurge: {{ .Values.rollout.surge }}\n      maxUnavailable: {{ $.Values.gone }}"
    found = chart_values(chart(numbers), "app/templates/deployment.yaml", "Deployment", ROLLING)
    assert yaml.safe_load(found.text) == {"rollout": {"type": "RollingUpdate", "surge": 0}, "gone": 1}
    recreated = chart_values(chart(numbers), "app/templates/deployment.yaml", "Deployment", RECREATE)
    assert recreated.text == ""  # the block of numbers would be rendered all the same


def test_of_a_chart_within_the_value_stands_under_its_name_or_alias() -> None:
    within = AROUND.format(field=WHOLE["below"])
    described = {
        "Chart.yaml": "name: app\ndependencies:\n- {name: worker, alias: gpu, version: 1.0.0}\n",
        "charts/worker/Chart.yaml": "name: worker",
    }
    made = chart_of({"charts/worker/templates/w.yaml": within}, described)
    for name in ("worker", "gpu"):
        found = chart_values(made, f"app/charts/{name}/templates/w.yaml", "Deployment", RECREATE)
        assert yaml.safe_load(found.text) == {name: RECREATE["spec"]}
    assert (
        "isn't in the chart's folder"
        in chart_values(made, "app/charts/db/templates/w.yaml", "Deployment", RECREATE).why
    )
    assert "is no template of the chart app" in chart_values(made, "other/templates/w.yaml", "Deployment", RECREATE).why


def test_two_workloads_of_one_template_are_told_where_both_take_the_same_value() -> None:
    first = AROUND.format(field=WHOLE["below"])
    same, other = f"{first}---\n{first}", f"{first}---\n{first.replace('.Values.strategy', '.Values.second')}"
    for text, is_told in ((same, True), (other, False)):
        found = chart_values(
            chart_of({"templates/d.yaml": text}, {"Chart.yaml": "name: app"}),
            "app/templates/d.yaml",
            "Deployment",
            ROLLING,
        )
        assert bool(found.text) is is_told
    around = "{{- if .Values.enabled }}\n" + first + "{{- end }}\n"
    for text, is_told in ((around, True), (around.replace("if .Values.enabled", "range .Values.workers"), False)):
        found = chart_values(
            chart_of({"templates/d.yaml": text}, {"Chart.yaml": "name: app"}),
            "app/templates/d.yaml",
            "Deployment",
            ROLLING,
        )
        assert bool(found.text) is is_told
