{{/* The configuration of sidecars in agents' pods, as YAML. */}}
{{- define "agent-sidecar.podsConfig" -}}
{{- $set := dict
  "agent_address" "/run/agent-sidecar/agent.sock"
  "agent_http_address" "/run/agent-sidecar/agent-http.sock"
  "agent_tcp_address" ""
  "agent_http_tcp_address" ""
  "admin_address" "/var/lib/agent-sidecar/admin.sock"
  "admin_http_address" "/var/lib/agent-sidecar/admin-http.sock"
  "telemetry_address" "0.0.0.0:9464"
  "state_directory" "/var/lib/agent-sidecar"
  "log_format" "json"
-}}
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
