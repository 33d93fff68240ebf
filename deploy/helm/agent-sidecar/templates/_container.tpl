{{/* What every container of the chart may do: nothing that it does not need. The argument is its user. */}}
{{- define "agent-sidecar.confined" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Liveness is the only probe that every sidecar has. */}}
{{- define "agent-sidecar.liveness" -}}
httpGet: {path: /livez, port: telemetry}
periodSeconds: 10
timeoutSeconds: 2
failureThreshold: 3
{{- end -}}

{{/* Where spans go, and whose they are; the argument is the root. */}}
{{- define "agent-sidecar.otlp" -}}
{{- with .Values.otlp.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.pod.name=$(POD_NAME),k8s.namespace.name=$(POD_NAMESPACE),k8s.container.name=sidecar
{{- end }}
{{- end -}}
