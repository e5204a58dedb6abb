{{/*
What the mode runs. The names are fixed, because the fences know ServiceAccounts
by them, and those of roles, Lease and ledger go with them: a cluster has one
installation.
*/}}

{{/* The Deployment's name; empty if there is none. */}}
{{- define "evenkeel.component" -}}
{{- if eq .Values.mode "serve" -}}
evenkeel
{{- else if eq .Values.mode "nodesync" -}}
evenkeel-nodesync
{{- else if or (eq .Values.mode "extender") (eq .Values.steering.by "extender") -}}
evenkeel-extender
{{- end -}}
{{- end -}}

{{/* Whether the mode evicts. */}}
{{- define "evenkeel.evicts" -}}
{{- if or (eq .Values.mode "serve") (eq .Values.mode "cronjob") -}}true{{- end -}}
{{- end -}}

{{/* Whether kube-scheduler asks a Deployment of the chart. */}}
{{- define "evenkeel.answers" -}}
{{- if or (eq .Values.mode "extender") (and (include "evenkeel.evicts" .) (eq .Values.steering.by "extender")) -}}true{{- end -}}
{{- end -}}

{{/* How the API server steers: gate, names or webhook; empty if it does not. */}}
{{- define "evenkeel.variant" -}}
{{- if and (include "evenkeel.evicts" .) (eq .Values.steering.by "admission") -}}
{{- $variant := .Values.steering.variant -}}
{{- if eq $variant "auto" -}}
{{- $variant = ternary "gate" "names" (eq .Values.mode "serve") -}}
{{- end -}}
{{- if and (ne $variant "names") (ne .Values.mode "serve") -}}
{{- fail (printf "steering.variant: %s takes a process that lasts: set mode to serve, or steering.variant to names" $variant) -}}
{{- end -}}
{{- if and (ne $variant "webhook") (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "steering.variant: %s takes Kubernetes 1.36, this is %s: set steering.variant to webhook with mode serve, or steering.by to extender or none" $variant .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $variant -}}
{{- end -}}
{{- end -}}

{{/* Whether a policy of the API server steers. */}}
{{- define "evenkeel.byPolicy" -}}
{{- if has (include "evenkeel.variant" .) (list "gate" "names") -}}true{{- end -}}
{{- end -}}

{{/* Whether pods may be patched. */}}
{{- define "evenkeel.patchesPods" -}}
{{- if has (include "evenkeel.variant" .) (list "gate" "webhook") -}}true{{- end -}}
{{- end -}}

{{- define "evenkeel.byWebhook" -}}
{{- if eq (include "evenkeel.variant" .) "webhook" -}}true{{- end -}}
{{- end -}}

{{/* Whether a process of the chart shows a certificate. */}}
{{- define "evenkeel.serves" -}}
{{- if or (include "evenkeel.answers" .) (include "evenkeel.byWebhook" .) -}}true{{- end -}}
{{- end -}}

{{/* The document of the policy with the kind, as JSON; {} if it has none. */}}
{{- define "evenkeel.document" -}}
{{- $kind := .kind -}}
{{- $found := dict -}}
{{- range regexSplit "(?m)^---([ \t].*)?$" .text -1 -}}
{{- $document := fromYaml . -}}
{{- if eq (get $document "kind" | toString) $kind -}}
{{- $found = $document -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The text of policy.yaml. */}}
{{- define "evenkeel.policy" -}}
{{- if .Values.policyFile -}}
{{- if or .Values.policy .Values.deschedulerPolicy -}}
{{- fail "policyFile: it takes the place of policy and deschedulerPolicy, so give either it or them" -}}
{{- end -}}
{{ .Values.policyFile }}
{{- else -}}
{{- $load := deepCopy .Values.policy -}}
{{- if and (include "evenkeel.evicts" .) (eq .Values.steering.by "none") -}}
{{- $load = merge $load (dict "eviction" (dict "steering" "none")) -}}
{{- end -}}
{{- if .Values.deschedulerPolicy -}}
{{ toYaml (merge (dict "apiVersion" "descheduler/v1alpha2" "kind" "DeschedulerPolicy") .Values.deschedulerPolicy) }}
---
{{ end -}}
{{ toYaml (merge (dict "apiVersion" "evenkeel.io/v1alpha1" "kind" "LoadPolicy") $load) }}
{{- end -}}
{{- end -}}

{{/* The LoadPolicy, as JSON; {} if it is in a ConfigMap of somebody else's. */}}
{{- define "evenkeel.load" -}}
{{- if .Values.policyConfigMap -}}
{}
{{- else -}}
{{- include "evenkeel.document" (dict "kind" "LoadPolicy" "text" (include "evenkeel.policy" .)) -}}
{{- end -}}
{{- end -}}

{{/* Whether a source of the policy reads kubelets. */}}
{{- define "evenkeel.kubeletSource" -}}
{{- $wanted := eq .Values.rbac.kubeletSource "always" -}}
{{- if eq .Values.rbac.kubeletSource "auto" -}}
{{- $usage := get (include "evenkeel.load" . | fromJson) "usage" | default dict -}}
{{- range get $usage "sources" | default list -}}
{{- if eq (get . "type" | toString) "Kubelet" -}}
{{- $wanted = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $wanted -}}true{{- end -}}
{{- end -}}

{{/* Whether the process that evicts writes to nodes. */}}
{{- define "evenkeel.marks" -}}
{{- $wanted := eq .Values.rbac.nodesync "always" -}}
{{- if eq .Values.rbac.nodesync "auto" -}}
{{- $nodesync := get (include "evenkeel.load" . | fromJson) "nodesync" | default dict -}}
{{- range list "annotations" "label" "taint" "rejectTaint" -}}
{{- if get (get $nodesync . | default dict) "enabled" -}}
{{- $wanted = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $wanted (include "evenkeel.evicts" .) -}}true{{- end -}}
{{- end -}}

{{/* Whether the mode nodesync reads pods and usage: rules alone do not. */}}
{{- define "evenkeel.nodesyncReads" -}}
{{- $wanted := eq .Values.rbac.usage "always" -}}
{{- if eq .Values.rbac.usage "auto" -}}
{{- $load := include "evenkeel.load" . | fromJson -}}
{{- $lines := get $load "lines" | default dict -}}
{{- $annotations := get (get $load "nodesync" | default dict) "annotations" | default dict -}}
{{- if and $load (or (not $lines) (hasKey $lines "cpu") (hasKey $lines "memory") (get $annotations "enabled")) -}}
{{- $wanted = true -}}
{{- end -}}
{{- end -}}
{{- if and $wanted (eq .Values.mode "nodesync") -}}true{{- end -}}
{{- end -}}

{{/* Both ways of running nodesync have their fence under a name of its own. */}}
{{- define "evenkeel.fenceSuffix" -}}
{{- if eq .Values.mode "nodesync" -}}-apart{{- end -}}
{{- end -}}

{{/* Keys that the fence of nodesync allows, as a list of CEL. */}}
{{- define "evenkeel.labelKeys" -}}
{{- $keys := concat (list "status") .Values.nodesync.labelKeys -}}
{{- $nodesync := get (include "evenkeel.load" . | fromJson) "nodesync" | default dict -}}
{{- with get (get $nodesync "label" | default dict) "key" -}}
{{- $keys = append $keys . -}}
{{- end -}}
{{- include "evenkeel.celList" $keys -}}
{{- end -}}

{{- define "evenkeel.taintKeys" -}}
{{- $keys := concat (list "evenkeel.io/hot" "evenkeel.io/above-reject") .Values.nodesync.taintKeys -}}
{{- $nodesync := get (include "evenkeel.load" . | fromJson) "nodesync" | default dict -}}
{{- range list "taint" "rejectTaint" -}}
{{- with get (get $nodesync . | default dict) "key" -}}
{{- $keys = append $keys . -}}
{{- end -}}
{{- end -}}
{{- include "evenkeel.celList" $keys -}}
{{- end -}}

{{- define "evenkeel.celList" -}}
[{{ range $i, $key := uniq . }}{{ if $i }}, {{ end }}{{ $key | quote }}{{ end }}]
{{- end -}}

{{/* Labels of every object. */}}
{{- define "evenkeel.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: evenkeel
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The ServiceAccounts of the mode's processes. */}}
{{- define "evenkeel.accounts" -}}
{{- $names := list -}}
{{- if include "evenkeel.evicts" . -}}
{{- $names = append $names "evenkeel" -}}
{{- end -}}
{{- with include "evenkeel.component" . -}}
{{- $names = append $names . -}}
{{- end -}}
{{- uniq $names | join "," -}}
{{- end -}}

{{/* These as subjects of a binding. */}}
{{- define "evenkeel.subjects" -}}
{{- $namespace := .Release.Namespace -}}
{{- range splitList "," (include "evenkeel.accounts" .) }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: {{ $namespace }}
{{- end }}
{{- end -}}

{{- define "evenkeel.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "evenkeel.replicas" -}}
{{- if eq (toString .Values.replicas) "" -}}
{{ ternary 1 2 (eq .Values.mode "nodesync") }}
{{- else if and (eq .Values.mode "nodesync") (gt (int .Values.replicas) 1) -}}
{{- fail (printf "replicas: %v in the mode nodesync would write to the same nodes, so leave it at 1: marks stay while it is away" .Values.replicas) -}}
{{- else -}}
{{ .Values.replicas }}
{{- end -}}
{{- end -}}

{{/*
Requests and limits. In the mode nodesync nothing of pods is kept while rules
judge, and a Job keeps what it has for one cycle: neither takes more.
*/}}
{{- define "evenkeel.resources" -}}
{{- if .Values.resources -}}
{{ toYaml .Values.resources }}
{{- else if eq .Values.size "small" -}}
requests: {cpu: 50m, memory: 64Mi}
limits: {memory: 512Mi}
{{- else if eq .Values.size "large" -}}
requests: {cpu: 500m, memory: 1Gi}
limits: {memory: 3Gi}
{{- else -}}
requests: {cpu: 100m, memory: 128Mi}
limits: {memory: 1Gi}
{{- end -}}
{{- end -}}

{{/* GOMEMLIMIT, 225/256 of the limit: 900MiB of 1Gi. Empty without a limit. */}}
{{- define "evenkeel.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" (include "evenkeel.resources" . | fromYaml) | toString -}}
{{- $kib := 0 -}}
{{- if regexMatch "^[0-9]+Gi$" $limit -}}
{{- $kib = mul (trimSuffix "Gi" $limit | int64) 1048576 -}}
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}
{{- $kib = mul (trimSuffix "Mi" $limit | int64) 1024 -}}
{{- else if regexMatch "^[0-9]+Ki$" $limit -}}
{{- $kib = trimSuffix "Ki" $limit | int64 -}}
{{- else if $limit -}}
{{- fail (printf "resources.limits.memory: %q is no whole number of Ki, Mi or Gi, from which GOMEMLIMIT follows" $limit) -}}
{{- end -}}
{{- with $kib -}}
{{ div (mul . 225) 262144 }}MiB
{{- end -}}
{{- end -}}

{{/* Labels and annotations of a hook. */}}
{{- define "evenkeel.hook" -}}
labels:
  {{- include "evenkeel.labels" .root | nindent 2 }}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
