{{/* Where sidecars in agents' pods listen and write: what volumes, mounts and probes rest on. */}}
{{- define "agent-sidecar.podsPlaces" -}}
agent_address: /run/agent-sidecar/agent.sock
agent_http_address: /run/agent-sidecar/agent-http.sock
agent_tcp_address: ""
agent_http_tcp_address: ""
admin_address: /var/lib/agent-sidecar/admin.sock
admin_http_address: /var/lib/agent-sidecar/admin-http.sock
telemetry_address: "0.0.0.0:9464"
state_directory: /var/lib/agent-sidecar
{{- end -}}

{{/* Variables of sidecars in agents' pods. With the places among them a pod whose ConfigMap is gone
     has its sidecar all the same, by the defaults of everything else. A configuration that the sidecar
     finds by itself, in /etc/sidecar, may be missing; one that it is told of may not. */}}
{{- define "agent-sidecar.podsEnvironment" -}}
{{- $config := include "agent-sidecar.podsConfig" . | fromYaml -}}
- name: SIDECAR_CONFIG
  value: ""
- name: XDG_CONFIG_HOME
  value: /etc
{{- range $key, $_ := include "agent-sidecar.podsPlaces" . | fromYaml }}
- name: SIDECAR_{{ upper $key }}
  value: {{ get $config $key | quote }}
{{- end }}
{{- end -}}

{{/* The configuration of sidecars in agents' pods, as YAML. */}}
{{- define "agent-sidecar.podsConfig" -}}
{{- $set := include "agent-sidecar.podsPlaces" . | fromYaml -}}
{{- $_ := set $set "log_format" "json" -}}
{{- if .Values.pods.model.secretName -}}
{{- $_ := set $set "model_key_file" (printf "/etc/agent-sidecar-model/%s" .Values.pods.model.key) -}}
{{- end -}}
{{- mergeOverwrite $set (deepCopy .Values.pods.config) | toYaml -}}
{{- end -}}

{{/* That of the gateway. */}}
{{- define "agent-sidecar.gatewayConfig" -}}
{{- $set := dict
  "agent_address" "/run/agent-sidecar/agent.sock"
  "agent_http_address" ""
  "agent_tcp_address" "0.0.0.0:4300"
  "agent_http_tcp_address" "0.0.0.0:4301"
  "token_file" (printf "/etc/agent-sidecar-token/%s" .Values.gateway.token.key)
  "admin_address" "/run/agent-sidecar/admin.sock"
  "admin_http_address" "127.0.0.1:9465"
  "telemetry_address" "0.0.0.0:9464"
  "state_directory" "/var/lib/agent-sidecar"
  "log_format" "json"
-}}
{{- if .Values.gateway.tls.secretName -}}
{{- $_ := set $set "tls_certificate_file" "/etc/agent-sidecar-tls/tls.crt" -}}
{{- $_ := set $set "tls_key_file" "/etc/agent-sidecar-tls/tls.key" -}}
{{- end -}}
{{- if .Values.gateway.model.secretName -}}
{{- $_ := set $set "model_key_file" (printf "/etc/agent-sidecar-model/%s" .Values.gateway.model.key) -}}
{{- end -}}
{{- mergeOverwrite $set (deepCopy .Values.gateway.config) | toYaml -}}
{{- end -}}
