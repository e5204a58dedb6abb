{{/*
What the mode runs. The names are fixed, because the fences recognize
ServiceAccounts by name and the names of roles, Lease and ledger follow from
these, so a cluster has one installation.
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
{{- fail (printf "steering.variant: %s needs a long-running process: set mode to serve, or steering.variant to names" $variant) -}}
{{- end -}}
{{- if and (ne $variant "webhook") (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "steering.variant: %s needs Kubernetes 1.36, this is %s: set steering.variant to webhook with mode serve, or steering.by to extender or none" $variant .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $variant -}}
{{- end -}}
{{- end -}}

{{/* Whether a MutatingAdmissionPolicy steers. */}}
{{- define "evenkeel.byPolicy" -}}
{{- if has (include "evenkeel.variant" .) (list "gate" "names") -}}true{{- end -}}
{{- end -}}

{{/* Whether the process needs the right to patch pods. */}}
{{- define "evenkeel.patchesPods" -}}
{{- if has (include "evenkeel.variant" .) (list "gate" "webhook") -}}true{{- end -}}
{{- end -}}

{{- define "evenkeel.byWebhook" -}}
{{- if eq (include "evenkeel.variant" .) "webhook" -}}true{{- end -}}
{{- end -}}

{{/* Whether a process of the chart serves with a certificate. */}}
{{- define "evenkeel.serves" -}}
{{- if or (include "evenkeel.answers" .) (include "evenkeel.byWebhook" .) -}}true{{- end -}}
{{- end -}}

{{/* The policy's document of the given kind, as JSON; {} if there is none. */}}
{{- define "evenkeel.document" -}}
{{- $kind := .kind -}}
{{- $found := dict -}}
{{- range regexSplit "(?m)^---(\\s|$)" .text -1 -}}
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
{{- $load := deepCopy (.Values.policy | default dict) -}}
{{- if and (include "evenkeel.evicts" .) (eq .Values.steering.by "none") -}}
{{- $load = merge $load (dict "eviction" (dict "steering" "none")) -}}
{{- end -}}
{{- if include "evenkeel.variant" . -}}
{{- $nodesync := get $load "nodesync" | default dict -}}
{{- range list "taint" "rejectTaint" -}}
{{- $part := get $nodesync . | default dict -}}
{{- if not (hasKey $part "enabled") -}}
{{- $_ := set $nodesync . (set $part "enabled" true) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $load "nodesync" $nodesync -}}
{{- end -}}
{{- if .Values.deschedulerPolicy -}}
{{ toYaml (merge (dict "apiVersion" "descheduler/v1alpha2" "kind" "DeschedulerPolicy") .Values.deschedulerPolicy) }}
---
{{ end -}}
{{ toYaml (merge (dict "apiVersion" "evenkeel.io/v1alpha1" "kind" "LoadPolicy") $load) }}
{{- end -}}
{{- end -}}

{{/* The LoadPolicy, as JSON; {} if it is in a ConfigMap that is not the chart's. */}}
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

{{/* Whether the policy switches a part of nodesync on. */}}
{{- define "evenkeel.writes" -}}
{{- $nodesync := get (include "evenkeel.load" . | fromJson) "nodesync" | default dict -}}
{{- $on := false -}}
{{- range list "annotations" "label" "taint" "rejectTaint" -}}
{{- if get (get $nodesync . | default dict) "enabled" -}}
{{- $on = true -}}
{{- end -}}
{{- end -}}
{{- if $on -}}true{{- end -}}
{{- end -}}

{{/* Whether the process that evicts writes to nodes. */}}
{{- define "evenkeel.marks" -}}
{{- $wanted := eq .Values.rbac.nodesync "always" -}}
{{- if eq .Values.rbac.nodesync "auto" -}}
{{- $wanted = include "evenkeel.writes" . -}}
{{- end -}}
{{- if and $wanted (include "evenkeel.evicts" .) -}}true{{- end -}}
{{- end -}}

{{/* Refuses what `evenkeel nodesync` refuses at startup. A policyFile is checked only by the process. */}}
{{- define "evenkeel.checkNodesync" -}}
{{- if and (eq .Values.mode "nodesync") (not .Values.policyFile) (not .Values.policyConfigMap) -}}
{{- if not (include "evenkeel.writes" .) -}}
{{- fail "mode: nodesync writes nothing, because policy.nodesync switches no part on: enable annotations, label, taint or rejectTaint, or give rules by policyFile" -}}
{{- end -}}
{{- if .Values.nodesync.prometheus -}}
{{- $found := false -}}
{{- range get (get (include "evenkeel.load" . | fromJson) "usage" | default dict) "sources" | default list -}}
{{- if eq (get . "type" | toString) "Prometheus" -}}
{{- $found = true -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail "nodesync.prometheus: it replaces the address of a source of type Prometheus, and policy.usage.sources has none" -}}
{{- end -}}
{{- end -}}
{{- end -}}
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

{{/* Suffix of the names of cluster-wide objects in the mode nodesync, because a release that evicts may have objects of the same names. */}}
{{- define "evenkeel.apartSuffix" -}}
{{- if eq .Values.mode "nodesync" -}}-apart{{- end -}}
{{- end -}}

{{/* Keys that the fence of nodesync allows, as a CEL list. */}}
{{- define "evenkeel.labelKeys" -}}
{{- $keys := concat (list "status") (.Values.nodesync.labelKeys | default list) -}}
{{- $nodesync := get (include "evenkeel.load" . | fromJson) "nodesync" | default dict -}}
{{- with get (get $nodesync "label" | default dict) "key" -}}
{{- $keys = append $keys . -}}
{{- end -}}
{{- include "evenkeel.celList" $keys -}}
{{- end -}}

{{- define "evenkeel.taintKeys" -}}
{{- $keys := concat (list "evenkeel.io/hot" "evenkeel.io/above-reject") (.Values.nodesync.taintKeys | default list) -}}
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

{{/* Refuses labels that the chart sets itself. Takes a dict with value (the value's name), labels and own. */}}
{{- define "evenkeel.checkLabels" -}}
{{- $value := .value -}}
{{- $own := .own -}}
{{- range $key, $_ := .labels -}}
{{- if has $key $own -}}
{{- fail (printf "%s: the chart sets the label %s itself, so leave it out" $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "evenkeel.labels" -}}
{{- include "evenkeel.labelsAnd" (dict "root" . "value" "" "more" dict) -}}
{{- end -}}

{{/* Labels of every object and those of a value. Takes a dict with root, value (the value's name) and more. */}}
{{- define "evenkeel.labelsAnd" -}}
{{- $own := list "helm.sh/chart" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/part-of" "app.kubernetes.io/managed-by" "app.kubernetes.io/version" "app.kubernetes.io/component" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- $more := .more | default dict -}}
{{- include "evenkeel.checkLabels" (dict "value" "commonLabels" "labels" $common "own" $own) -}}
{{- include "evenkeel.checkLabels" (dict "value" .value "labels" $more "own" $own) -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/part-of: evenkeel
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- with merge (deepCopy $more) $common }}
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

{{/* The ServiceAccounts as subjects of a binding. */}}
{{- define "evenkeel.subjects" -}}
{{- $namespace := .Release.Namespace -}}
{{- range splitList "," (include "evenkeel.accounts" .) }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: {{ $namespace | quote }}
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
{{- if or (kindIs "invalid" .Values.replicas) (eq (toString .Values.replicas) "") -}}
{{ ternary 1 2 (eq .Values.mode "nodesync") }}
{{- else if and (eq .Values.mode "nodesync") (gt (int .Values.replicas) 1) -}}
{{- fail (printf "replicas: %v in the mode nodesync would write to the same nodes, so leave it at 1: marks stay while it is away" .Values.replicas) -}}
{{- else -}}
{{ .Values.replicas }}
{{- end -}}
{{- end -}}

{{/*
Requests and limits, in every mode: with rules the mode nodesync stores nothing
about pods, and a Job stores its data for one cycle, so neither needs more.
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
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $memory := get (get (include "evenkeel.resources" . | fromYaml) "limits" | default dict) "memory" -}}
{{- $limit := toString ($memory | default "") -}}
{{- if kindIs "float64" $memory -}}
{{- $limit = printf "%.0f" $memory -}}
{{- end -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $limit -}}
{{- $number := regexFind "^[0-9.]+" $limit -}}
{{- with divf (mulf $number (get $units (trimPrefix $number $limit)) 225) 268435456 | floor | int64 -}}
{{ . }}MiB
{{- end -}}
{{- else if $limit -}}
{{- fail (printf "resources.limits.memory: %q has another unit than k, M, G, T, Ki, Mi, Gi and Ti, so set GOMEMLIMIT by env" $limit) -}}
{{- end -}}
{{- end -}}

{{/* Labels and annotations of a hook. */}}
{{- define "evenkeel.hook" -}}
labels:
  {{- include "evenkeel.labels" .root | nindent 2 }}
annotations:
  {{- include "evenkeel.hookAnnotations" . | nindent 2 }}
{{- end -}}

{{- define "evenkeel.hookAnnotations" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Whether a Job with its own rights cleans up after an uninstall. */}}
{{- define "evenkeel.cleansUp" -}}
{{- if and .Values.cleanup.enabled .Values.rbac.create (ne .Values.mode "extender") -}}true{{- end -}}
{{- end -}}
