"""The chart's templates, made of the plain manifests: ``python -m tests.deploy.chart`` writes them, a test compares.

The plain manifests are the truth. A template is one of them with its places for values; what they are is said here once.
"""

from __future__ import annotations

import re
from typing import Final

from tests.architecture.tree import ROOT, VERSION

DEPLOY: Final = ROOT / "deploy"
TEMPLATES: Final = DEPLOY / "chart" / "templates"
NOTE: Final = "{{- /* Made of deploy/%s by python -m tests.deploy.chart: change that. */ -}}\n"

# file → when it is rendered; "" always
WHEN: Final = {
    "headroom.yaml": "",
    "clusterrole.yaml": "",
    "logs.yaml": ".Values.logs.enabled",
    "webhook.yaml": ".Values.webhook.enabled",
    "certificate.yaml": ".Values.certManager",
    "ingress.yaml": ".Values.ingress.enabled",
    "gateway.yaml": ".Values.gateway.enabled",
    "networkpolicy.yaml": ".Values.networkPolicy.enabled",
    "snapshot.yaml": ".Values.snapshots.enabled",
}

# what stands in the plain manifests → what gives it in the chart; each has to be found
PLACES: Final = (
    (f"registry.example.com/headroom:{VERSION}", "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"),
    ("namespace: headroom", "namespace: {{ .Release.Namespace }}"),
    ("headroom.headroom.svc", "headroom.{{ .Release.Namespace }}.svc"),
    ("headroom/headroom-tls", "{{ .Release.Namespace }}/headroom-tls"),
    ("values: [kube-system, headroom]", "values: [kube-system, {{ .Release.Namespace }}]"),
    ("headroom.example.com", "{{ .Values.host }}"),
    ("ingressClassName: nginx", "ingressClassName: {{ .Values.ingress.className }}"),
    ("parentRefs: [{name: public, namespace: gateways}]", "parentRefs: {{ toJson .Values.gateway.parentRefs }}"),
    ('"s3://bucket/headroom?region=eu-west-1"', "{{ .Values.snapshots.store | quote }}"),
    ("--name, prod", "--name, {{ .Values.snapshots.cluster | quote }}"),
    ('schedule: "7 * * * *"', "schedule: {{ .Values.snapshots.schedule | quote }}"),
    ('--keep-days, "400"', "--keep-days, {{ .Values.snapshots.keepDays | quote }}"),
)  # fmt: skip
WITH_SESSIONS: Final = "\\g<0>{{- with .Values.sessions.claim }}\n\\1%s\n{{- end }}\n"
BLOCKS: Final = (
    ("headroom.yaml", r"( +)resources:\n(?:\1  .*\n)+", "\\1resources: {{ toJson .Values.resources }}\n"),
    ("ingress.yaml", r"( +)annotations:\n(?:\1  .*\n)+", "\\1annotations: {{ toJson .Values.ingress.annotations }}\n"),
    ("headroom.yaml", r"apiVersion: v1\nkind: Namespace\n(?:.*\n)*?---\n", ""),  # helm's --create-namespace
    ("headroom.yaml", r"( +)- {name: HEADROOM_WORKERS.*\n", WITH_SESSIONS % "- {name: HEADROOM_SESSIONS, value: /sessions/headroom}"),
    ("headroom.yaml", r"( +)- {name: tmp, mountPath.*\n", WITH_SESSIONS % "- {name: sessions, mountPath: /sessions}"),
    ("headroom.yaml", r"( +)- {name: tmp, emptyDir.*\n",
     WITH_SESSIONS % "- {name: sessions, persistentVolumeClaim: {claimName: {{ . | quote }}}}"),
    ("webhook.yaml", r"( +)annotations:\n(?:\1  .*\n)+", "{{- if .Values.certManager }}\n\\g<0>{{- end }}\n"),
    ("webhook.yaml", r"( +)clientConfig:\n", "\\g<0>{{- with .Values.webhook.caBundle }}\n\\1  caBundle: {{ . }}\n{{- end }}\n"),
)  # fmt: skip


def templates() -> dict[str, str]:
    """File → the template's text."""
    found = {name: (DEPLOY / name).read_text() for name in WHEN}
    for plain, given in PLACES:
        assert any(plain in text for text in found.values()), plain
        found = {name: text.replace(plain, given) for name, text in found.items()}
    for name, pattern, given in BLOCKS:
        found[name], count = re.subn(pattern, given, found[name])
        assert count == 1, (name, pattern)
    return {
        name: NOTE % name + (f"{{{{- if {WHEN[name]} }}}}\n{text}{{{{- end }}}}\n" if WHEN[name] else text)
        for name, text in found.items()
    }


if __name__ == "__main__":
    for name, text in templates().items():
        (TEMPLATES / name).write_text(text)
