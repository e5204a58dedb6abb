package main

import "strings"

// part is a template that is generated from manifests.
type part struct {
	// file is the template's name in templates/generated.
	file   string
	blocks []block
}

// block is a part of a template under one condition.
type block struct {
	// when is the condition, a Go template expression.
	when string
	// source is the file below deploy. only lists the objects in it that are used, as
	// kind/name; if it is empty, all are used.
	source string
	only   []string
	// changes are applied to the block's text. It is an error if one cannot be applied.
	changes []change
}

// change replaces a piece of text.
type change struct{ old, with string }

const (
	evicts     = `(include "evenkeel.evicts" .)`
	roles      = `.Values.rbac.create`
	authorized = `(eq .Values.metrics.access "authorized")`
	component  = `(include "evenkeel.component" .)`
	apart      = `(eq (include "evenkeel.component" .) "evenkeel-extender")`
	marking    = `(eq .Values.mode "nodesync")`
	steered    = `(include "evenkeel.variant" .)`
	byPolicy   = `(include "evenkeel.byPolicy" .)`
	byWebhook  = `(include "evenkeel.byWebhook" .)`
	patches    = `(include "evenkeel.patchesPods" .)`
	kubelets   = `(include "evenkeel.kubeletSource" .)`
	cleaning   = `(include "evenkeel.cleansUp" .)`

	suffix = `{{ include "evenkeel.apartSuffix" . }}`
)

// parts lists all generated templates.
var parts = []part{
	{"rbac-evicting.yaml", []block{
		{when: and(roles, evicts), source: "base/clusterrole.yaml", only: []string{"ClusterRole/evenkeel", "ClusterRoleBinding/evenkeel"}},
		{when: and(roles, evicts, authorized), source: "base/clusterrole.yaml", only: []string{"ClusterRoleBinding/evenkeel:auth-delegator"}},
		{when: and(roles, evicts), source: "base/role.yaml"},
		{when: and(roles, `(eq .Values.mode "serve")`), source: "overlays/serve/rbac.yaml"},
	}},
	{"rbac-extender.yaml", []block{
		{when: and(roles, apart), source: "overlays/extender/rbac.yaml", only: []string{
			"ClusterRole/evenkeel-extender", "ClusterRoleBinding/evenkeel-extender", "Role/evenkeel-extender", "RoleBinding/evenkeel-extender",
		}},
		{when: and(roles, apart, authorized), source: "overlays/extender/rbac.yaml", only: []string{"ClusterRoleBinding/evenkeel-extender:auth-delegator"}},
	}},
	{"rbac-nodesync.yaml", []block{
		{when: and(roles, marking), source: "overlays/nodesync/rbac.yaml", only: []string{
			"ClusterRole/evenkeel-nodesync-apart", "ClusterRoleBinding/evenkeel-nodesync-apart",
		}},
		{when: and(roles, marking, authorized), source: "overlays/nodesync/rbac.yaml", only: []string{"ClusterRoleBinding/evenkeel-nodesync:auth-delegator"}},
		// Permissions of the extender to read pods and usage.
		{
			when: and(roles, `(include "evenkeel.nodesyncReads" .)`), source: "overlays/extender/rbac.yaml",
			only: []string{"ClusterRole/evenkeel-extender", "ClusterRoleBinding/evenkeel-extender"},
			changes: []change{
				{"- kind: ServiceAccount\n    name: evenkeel-extender", "- kind: ServiceAccount\n    name: evenkeel-nodesync"},
				{"name: evenkeel-extender", "name: evenkeel-nodesync-usage"},
			},
		},
	}},
	{"rbac-nodesync-evicting.yaml", []block{{when: and(roles, `(include "evenkeel.marks" .)`), source: "components/nodesync/rbac.yaml"}}},
	{"fence-nodesync.yaml", []block{{
		when: `or (include "evenkeel.marks" .) ` + marking, source: "components/nodesync-fence/fence.yaml",
		changes: []change{
			{"name: evenkeel-nodesync", "name: evenkeel-nodesync" + suffix},
			{"policyName: evenkeel-nodesync", "policyName: evenkeel-nodesync" + suffix},
			{`'["status"]'`, `{{ include "evenkeel.labelKeys" . | quote }}`},
			{`'["evenkeel.io/hot", "evenkeel.io/above-reject"]'`, `{{ include "evenkeel.taintKeys" . | quote }}`},
		},
	}}},
	{"rbac-kubelet-source.yaml", []block{
		{
			when: and(".Values.serviceAccount.create", kubelets), source: "components/kubelet-source/rbac.yaml",
			only: []string{"ServiceAccount/evenkeel-kubelet-source"},
		},
		// One release may evict and another run nodesync, each in its own namespace.
		{
			when: and(roles, kubelets), source: "components/kubelet-source/rbac.yaml", only: []string{
				"ClusterRole/evenkeel-kubelet-source", "ClusterRoleBinding/evenkeel-kubelet-source",
			},
			changes: []change{
				{"kind: ClusterRole\nmetadata:\n  name: evenkeel-kubelet-source", "kind: ClusterRole\nmetadata:\n  name: evenkeel-kubelet-source" + suffix},
				{"kind: ClusterRoleBinding\nmetadata:\n  name: evenkeel-kubelet-source", "kind: ClusterRoleBinding\nmetadata:\n  name: evenkeel-kubelet-source" + suffix},
				{"kind: ClusterRole\n  name: evenkeel-kubelet-source", "kind: ClusterRole\n  name: evenkeel-kubelet-source" + suffix},
			},
		},
		{
			when: and(roles, kubelets), source: "components/kubelet-source/rbac.yaml", only: []string{
				"Role/evenkeel-kubelet-source", "RoleBinding/evenkeel-kubelet-source",
			},
			changes: []change{{
				`
  - kind: ServiceAccount
    name: evenkeel
    namespace: evenkeel
  - kind: ServiceAccount
    name: evenkeel-extender
    namespace: evenkeel
  - kind: ServiceAccount
    name: evenkeel-nodesync
    namespace: evenkeel
  - kind: ServiceAccount
    name: evenkeel-scheduler
    namespace: evenkeel`, "\n  {{- include \"evenkeel.subjects\" . | trim | nindent 2 }}",
			}},
		},
	}},
	// The Job that cleans up after an uninstall runs when the release's fences are already
	// gone, so it has its own copies, which are hooks.
	{"fence-cleanup.yaml", []block{
		{
			when: cleaning, source: "components/nodesync-fence/fence.yaml",
			changes: append(hooked("evenkeel-nodesync", ":evenkeel(-nodesync)?$"),
				change{`'["status"]'`, `{{ include "evenkeel.labelKeys" . | quote }}`},
				change{`'["evenkeel.io/hot", "evenkeel.io/above-reject"]'`, `{{ include "evenkeel.taintKeys" . | quote }}`},
			),
		},
		{
			when: and(cleaning, `(ne .Values.mode "nodesync")`), source: "components/admission-steering-pods/pods.yaml",
			only:    []string{"ValidatingAdmissionPolicy/evenkeel-pods", "ValidatingAdmissionPolicyBinding/evenkeel-pods"},
			changes: hooked("evenkeel-pods", ":evenkeel$"),
		},
	}},
	{"steering-crd.yaml", []block{{when: steered, source: "components/admission-steering-base/crd.yaml"}}},
	{"steering-namespace.yaml", []block{{when: steered, source: "components/admission-steering-base/namespace.yaml"}}},
	{"rbac-steering.yaml", []block{{when: and(roles, steered), source: "components/admission-steering-base/rbac.yaml"}}},
	{"fence-probe.yaml", []block{{when: steered, source: "components/admission-steering-base/probe.yaml"}}},
	{"steering-policy.yaml", []block{{when: byPolicy, source: "components/admission-steering-names/policy.yaml"}}},
	{"fence-pods.yaml", []block{{when: patches, source: "components/admission-steering-pods/pods.yaml", only: []string{
		"ValidatingAdmissionPolicy/evenkeel-pods", "ValidatingAdmissionPolicyBinding/evenkeel-pods",
	}}}},
	{"rbac-pods.yaml", []block{{when: and(roles, patches), source: "components/admission-steering-pods/pods.yaml", only: []string{
		"ClusterRole/evenkeel-pods", "ClusterRoleBinding/evenkeel-pods",
	}}}},
	{"steering-webhook.yaml", []block{{
		when: byWebhook, source: "components/admission-steering-webhook/webhook.yaml", only: []string{"MutatingWebhookConfiguration/evenkeel-steer"},
		changes: []change{
			{"  annotations:\n", "  {{- if .Values.certificates.certManager }}\n  annotations:\n"},
			{"evenkeel/evenkeel-server\n", "{{ .Release.Namespace }}/evenkeel-server\n  {{- end }}\n"},
			{"    clientConfig:\n", "    clientConfig:\n      {{- with .Values.certificates.ca }}\n      caBundle: {{ b64enc . }}\n      {{- end }}\n"},
			{"values: [evenkeel]", "values: [{{ .Release.Namespace | quote }}]"},
		},
	}}},
	{"rbac-webhook.yaml", []block{{when: and(roles, byWebhook), source: "components/admission-steering-webhook/webhook.yaml", only: []string{
		"ClusterRole/evenkeel-webhook", "ClusterRoleBinding/evenkeel-webhook",
	}}}},
	// With a budget for a single replica, its node could not be drained.
	{"poddisruptionbudget.yaml", []block{{
		when:   and(".Values.podDisruptionBudget.enabled", component, `(gt (include "evenkeel.replicas" . | int) 1)`),
		source: "overlays/serve/pdb.yaml",
		changes: []change{
			{"name: evenkeel\n", "name: {{ include \"evenkeel.component\" . }}\n"},
			{"maxUnavailable: 1\n", "maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}\n"},
		},
	}}},
	{"certificates.yaml", []block{{
		when: and(".Values.certificates.certManager", `(include "evenkeel.serves" .)`), source: "components/cert-manager/certificates.yaml",
		changes: []change{
			{".evenkeel.svc", ".{{ .Release.Namespace }}.svc"},
			{"secretName: evenkeel-server-tls", "secretName: {{ .Values.certificates.secret | quote }}"},
		},
	}}},
}

// hooked turns copies of a fence and its binding into hooks that bind the cleanup Job.
// They are created before the Job's permissions and deleted by Helm after them.
func hooked(fence, accounts string) []change {
	name := strings.Replace(fence, "evenkeel-", "evenkeel-cleanup-", 1)
	return []change{
		{"metadata:\n  name: " + fence, "metadata:\n  name: " + name + `
  annotations:
    {{- include "evenkeel.hookAnnotations" (dict "weight" -10) | nindent 4 }}`},
		{"policyName: " + fence, "policyName: " + name},
		{accounts, ":evenkeel-cleanup$"},
	}
}

// and returns a condition that is true if all given conditions are.
func and(conditions ...string) string { return "and " + strings.Join(conditions, " ") }
