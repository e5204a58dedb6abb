{{/* Arguments of the Deployment's command. */}}
{{- define "evenkeel.args" -}}
{{- include "evenkeel.checkNodesync" . -}}
{{- $component := include "evenkeel.component" . -}}
- {{ ternary (trimPrefix "evenkeel-" $component) "serve" (ne $component "evenkeel") }}
- --policy-config-file=/etc/evenkeel/policy.yaml
{{- if eq .Values.mode "serve" }}
{{- with .Values.deschedulingInterval }}
{{- if regexMatch "^[^1-9]+$" . }}
{{- fail (printf "deschedulingInterval: %q leaves no time between two cycles, and the mode serve goes on: give one, or set mode to cronjob" .) }}
{{- end }}
- --descheduling-interval={{ . }}
{{- end }}
- --leader-elect=true
{{- end }}
{{- if include "evenkeel.answers" . }}
- --listen-address=:8443
- --tls-cert-file=/etc/evenkeel-tls/tls.crt
- --tls-private-key-file=/etc/evenkeel-tls/tls.key
- --client-ca-file=/etc/evenkeel-tls/ca.crt
{{- else if eq .Values.mode "serve" }}
- --listen-address=127.0.0.1:8443
{{- end }}
{{- if and (eq .Values.mode "nodesync") .Values.nodesync.prometheus }}
- {{ printf "--prom=%s" .Values.nodesync.prometheus | quote }}
{{- end }}
- --metrics-access={{ .Values.metrics.access }}
- --v={{ .Values.logLevel }}
{{- if include "evenkeel.byWebhook" . }}
- --webhook-address=:9443
- --webhook-cert-file=/etc/evenkeel-tls/tls.crt
- --webhook-private-key-file=/etc/evenkeel-tls/tls.key
{{- end }}
{{- if and .Values.dryRun (eq .Values.mode "serve") }}
- --dry-run
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Arguments of a cycle. */}}
{{- define "evenkeel.cycleArgs" -}}
- run
- --policy-config-file=/etc/evenkeel/policy.yaml
- --metrics-access={{ .Values.metrics.access }}
- --v={{ .Values.logLevel }}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
{{- if not (include "evenkeel.component" .) }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- with .Values.cronjob.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A probe of the manifests. */}}
{{- define "evenkeel.probe" -}}
httpGet:
  path: {{ .path }}
  port: metrics
  {{- if eq .access "authorized" }}
  scheme: HTTPS
  {{- end }}
{{- end -}}

{{/* Ports, probes and hooks of a long-running process. */}}
{{- define "evenkeel.lasting" -}}
ports:
  {{- if include "evenkeel.answers" . }}
  - name: extender
    containerPort: 8443
  {{- end }}
  {{- if eq .Values.mode "nodesync" }}
  - name: nodes
    containerPort: 9000
  {{- end }}
  - name: metrics
    containerPort: 10258
  {{- if include "evenkeel.byWebhook" . }}
  - name: webhook
    containerPort: 9443
  {{- end }}
livenessProbe:
  {{- if .Values.livenessProbe }}
  {{- toYaml .Values.livenessProbe | nindent 2 }}
  {{- else }}
  {{- include "evenkeel.probe" (dict "path" "/livez" "access" .Values.metrics.access) | nindent 2 }}
  initialDelaySeconds: 10
  periodSeconds: 20
  {{- end }}
readinessProbe:
  {{- if .Values.readinessProbe }}
  {{- toYaml .Values.readinessProbe | nindent 2 }}
  {{- else }}
  {{- include "evenkeel.probe" (dict "path" "/readyz" "access" .Values.metrics.access) | nindent 2 }}
  periodSeconds: 5
  {{- end }}
{{- if .Values.lifecycle }}
lifecycle:
  {{- toYaml .Values.lifecycle | nindent 2 }}
{{- else if include "evenkeel.serves" . }}
lifecycle:
  preStop:
    sleep:
      seconds: 5
{{- end }}
{{- end -}}

{{/* Environment of the container; labelled is whether the process knows its namespace. */}}
{{- define "evenkeel.env" -}}
{{- $given := list -}}
{{- range .Values.env -}}
{{- $given = append $given (get . "name") -}}
{{- end -}}
{{- if not (has "POD_NAMESPACE" $given) -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- if not (has "GOMEMLIMIT" $given) }}
{{- with include "evenkeel.goMemLimit" . }}
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What all pods have in common. Takes a dict with root, name, args, lasting, affinity and restartPolicy. */}}
{{- define "evenkeel.podSpec" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ .name }}
{{- if not $values.serviceAccount.automountToken }}
automountServiceAccountToken: false
{{- end }}
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
{{- if ne (int $values.terminationGracePeriodSeconds) 30 }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.affinity }}
affinity:
  {{- toYaml $values.affinity | nindent 2 }}
{{- else if .spread }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: {{ .name }}
{{- end }}
{{- if .spread }}
{{- with $values.topologySpreadConstraints }}
{{- $selector := dict "labelSelector" (dict "matchLabels" (dict "app.kubernetes.io/name" $.name)) }}
{{- $constraints := list }}
{{- range . }}
{{- $constraints = append $constraints (merge (deepCopy .) (ternary dict (deepCopy $selector) (hasKey . "labelSelector"))) }}
{{- end }}
topologySpreadConstraints:
  {{- toYaml $constraints | nindent 2 }}
{{- end }}
{{- end }}
{{- with $values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: evenkeel
    image: {{ include "evenkeel.image" $root | quote }}
    {{- with $values.image.pullPolicy }}
    imagePullPolicy: {{ . }}
    {{- end }}
    args:
      {{- .args | nindent 6 }}
    env:
      {{- include "evenkeel.env" $root | nindent 6 }}
    {{- with $values.envFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    resources:
      {{- include "evenkeel.resources" $root | nindent 6 }}
    securityContext:
      {{- toYaml $values.securityContext | nindent 6 }}
    {{- with .lasting }}
    {{- . | nindent 4 }}
    {{- end }}
    volumeMounts:
      - name: policy
        mountPath: /etc/evenkeel
      {{- if .tls }}
      - name: tls
        mountPath: /etc/evenkeel-tls
        readOnly: true
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: policy
    configMap:
      name: {{ $values.policyConfigMap | default "evenkeel-policy" | quote }}
  {{- if .tls }}
  # From `evenkeel certificates` or cert-manager. Renewed certificates are used
  # immediately.
  - name: tls
    secret:
      secretName: {{ $values.certificates.secret | quote }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Labels of a pod with a name. */}}
{{- define "evenkeel.podLabels" -}}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/part-of" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- $pod := .root.Values.podLabels | default dict -}}
{{- include "evenkeel.checkLabels" (dict "value" "podLabels" "labels" $pod "own" $own) -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: evenkeel
{{- with merge (deepCopy $pod) $common }}
{{ toYaml . }}
{{- end }}
{{- end -}}
