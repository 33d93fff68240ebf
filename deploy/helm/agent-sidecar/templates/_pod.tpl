{{/*
The lines that a pod of agents needs. A chart that has this one as a dependency puts them into its own
pods (`agent-sidecar` stands for the dependency's name or alias):

  spec:
    terminationGracePeriodSeconds: 40        # the agent's own, and 10
    securityContext: {fsGroup: 65532}
    imagePullSecrets: []                     # the agent's own, and the sidecar's
    initContainers:
      {{- include "agent-sidecar.container" (index .Subcharts "agent-sidecar") | nindent 6 }}
    containers:
      - name: agent
        volumeMounts:
          {{- include "agent-sidecar.mounts" (index .Subcharts "agent-sidecar") | nindent 10 }}
    volumes:
      {{- include "agent-sidecar.volumes" (index .Subcharts "agent-sidecar") | nindent 6 }}
*/}}

{{- define "agent-sidecar.container" -}}
- name: sidecar
  image: {{ include "agent-sidecar.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  args: [serve]
  env:
    {{- include "agent-sidecar.podsEnvironment" . | nindent 4 }}
    {{- with include "agent-sidecar.otlp" . }}
    {{- trim . | nindent 4 }}
    {{- end }}
  ports:
    - name: telemetry
      containerPort: 9464
  livenessProbe:
    {{- include "agent-sidecar.liveness" . | nindent 4 }}
  {{- if .Values.pods.strict }}
  startupProbe:
    httpGet: {path: /readyz, port: telemetry}
    periodSeconds: 1
    timeoutSeconds: 2
    failureThreshold: 60
  {{- end }}
  resources:
    {{- toYaml .Values.pods.resources | nindent 4 }}
  securityContext:
    {{- include "agent-sidecar.confined" 65532 | nindent 4 }}
  volumeMounts:
    - name: sidecar-config
      mountPath: /etc/sidecar
      readOnly: true
    {{- if .Values.pods.model.secretName }}
    - name: sidecar-model
      mountPath: /etc/agent-sidecar-model
      readOnly: true
    {{- end }}
    - name: sidecar-sockets
      mountPath: /run/agent-sidecar
    - name: sidecar-state
      mountPath: /var/lib/agent-sidecar
{{- end -}}

{{/* What the agent's own container mounts: enough to connect, and not to replace a socket. */}}
{{- define "agent-sidecar.mounts" -}}
- name: sidecar-sockets
  mountPath: /run/agent-sidecar
  readOnly: true
{{- end -}}

{{- define "agent-sidecar.volumes" -}}
- name: sidecar-config
  configMap:
    name: {{ include "agent-sidecar.fullname" . }}-pods
    # After `helm uninstall` agents start all the same, and their sidecars with them.
    optional: true
{{- with .Values.pods.model.secretName }}
- name: sidecar-model
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    # Without the Secret the sidecar ends and says so; the agent has to start all the same.
    optional: true
{{- end }}
- name: sidecar-sockets
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
- name: sidecar-state
  emptyDir:
    sizeLimit: 512Mi
{{- end -}}
