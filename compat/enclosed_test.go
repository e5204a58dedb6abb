package compat

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"

	"github.com/evenkeel/evenkeel/policy/rewritten"
)

const enclosedPolicy = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {RemoveDuplicates: {enabled: true}}\n"

// indented returns a text indented as a YAML block.
func indented(text string, by int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return "|\n" + strings.Repeat(" ", by) + strings.Join(lines, "\n"+strings.Repeat(" ", by)) + "\n"
}

// A policy inside another document is found wherever it is, so that no user is told that there is
// none.
func TestEnclosedPoliciesAreFound(t *testing.T) {
	const (
		meta   = "metadata: {name: d, namespace: n}\n"
		values = "deschedulerPolicyAPIVersion: descheduler/v1alpha1\ndeschedulerPolicy: {strategies: {RemoveDuplicates: {enabled: true}}}\n"
	)
	application := "apiVersion: argoproj.io/v1alpha1\nkind: Application\n" + meta + "spec:\n"
	cases := map[string]struct{ text, where, how string }{
		"HelmRelease": {
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" + meta +
				"spec: {values: {deschedulerPolicyAPIVersion: descheduler/v1alpha1, deschedulerPolicy: {strategies: {}, profiles: []}}}\n",
			"spec.values.deschedulerPolicy", "apiVersion: descheduler/v1alpha1",
		},
		"HelmRelease without a version": {
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" + meta + "spec: {values: {deschedulerPolicy: {profiles: []}}}\n",
			"spec.values.deschedulerPolicy", "apiVersion: descheduler/v1alpha2",
		},
		"HelmRelease of a chart without a version": {
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" + meta + "spec: {values: {deschedulerPolicy: {strategies: {PodLifeTime: {enabled: true}}}}}\n",
			"spec.values.deschedulerPolicy", "apiVersion: descheduler/v1alpha1",
		},
		"HelmRelease, flags": {
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" + meta + "spec: {values: {cmdOptions: {v: 3, node-selector: pool=a, max-pods-to-evict-per-node: 2}}}\n",
			"spec.values", "`maxNoOfPodsToEvictPerNode: 2` in the DeschedulerPolicy; replace --node-selector with `nodeSelector: pool=a`",
		},
		"a script that writes the policy": {
			"apiVersion: v1\nkind: ConfigMap\n" + meta + "data:\n  run.sh: " +
				indented("#!/bin/sh\ncat >/p <<EOF\n"+enclosedPolicy+"EOF\ndescheduler --policy-config-file /p\n", 4),
			"data.run.sh", "write it to a separate file",
		},
		"a script that runs descheduler": {
			"apiVersion: v1\nkind: ConfigMap\n" + meta + "data:\n  run.sh: " +
				indented("#!/bin/sh\nset -e\nexec descheduler --policy-config-file /p --max-pods-to-evict-per-node 3\n", 4),
			"data.run.sh", "`maxNoOfPodsToEvictPerNode: 3`",
		},
		"HelmRelease, external values": {
			"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" + meta + "spec: {valuesFrom: [{kind: ConfigMap, name: x, targetPath: deschedulerPolicy}]}\n",
			"spec.valuesFrom[0]", "helm template",
		},
		"HelmChart, flags": {
			"apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\n" + meta + "spec:\n  valuesContent: |\n    cmdOptions:\n      node-selector: pool=a\n",
			"spec.valuesContent", "`nodeSelector: pool=a`",
		},
		"HelmChart, set": {
			"apiVersion: helm.cattle.io/v1\nkind: HelmChart\n" + meta + "spec: {set: {'deschedulerPolicy.profiles[0].name': x, deschedulerPolicy.maxNoOfPodsToEvictPerNode: '3'}}\n",
			"spec.set", "helm template",
		},
		"Application, flags": {
			application + "  source: {helm: {parameters: [{name: cmdOptions.node-selector, value: pool=a}, {name: d.cmdOptions.max-pods-to-evict-per-node, value: '3'}]}}\n",
			"spec.source.helm.parameters", "`nodeSelector: pool=a`",
		},
		"Application, a file as a parameter": {
			application + "  source: {helm: {fileParameters: [{name: deschedulerPolicy, path: policy.yaml}]}}\n", "spec.source.helm.fileParameters", "deschedulerPolicy sets it",
		},
		"ApplicationSet, a template": {
			"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n" + meta + "spec:\n  values: " + indented("deschedulerPolicy:\n  strategies:\n    PodLifeTime: {enabled: {{ .x }}}\n", 4),
			"spec.values", "not YAML until its template is rendered",
		},
		"Kustomization, a flag": {
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n  - patch: " +
				indented("- op: add\n  path: /spec/jobTemplate/spec/template/spec/containers/0/args/-\n  value: --node-selector=pool=a\n", 6),
			"patches[0].patch[0]", "`nodeSelector: pool=a`",
		},
		"Kustomization, a patch that merges": {
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n  - patch: " +
				indented("apiVersion: v1\nkind: Pod\nmetadata: {name: d}\nspec: {containers: [{name: descheduler, args: [--max-pods-to-evict-per-node=3]}]}\n", 6),
			"patches[0].patch.spec.containers[0].args", "`maxNoOfPodsToEvictPerNode: 3`",
		},
		"Application, values as text":   {application + "  source:\n    helm:\n      values: " + indented(values, 8), "spec.source.helm.values.deschedulerPolicy", "v1alpha1"},
		"Application, values as object": {application + "  source: {helm: {valuesObject: {deschedulerPolicy: {profiles: []}}}}\n", "spec.source.helm.valuesObject.deschedulerPolicy", "v1alpha2"},
		"Application, parameters": {
			application + "  source: {helm: {parameters: [{name: 'deschedulerPolicy.profiles[0].name', value: x}]}}\n", "spec.source.helm.parameters", " here: deschedulerPolicy.profiles[0].name sets it",
		},
		"Application with several sources": {
			application + "  sources:\n    - {chart: other}\n    - helm:\n        values: " + indented(values, 10), "spec.sources[1].helm.values.deschedulerPolicy", "v1alpha1",
		},
		"ApplicationSet": {
			"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n" + meta + "spec: {template: {spec: {source: {helm: {valuesObject: {deschedulerPolicy: {profiles: []}}}}}}}\n",
			"spec.template.spec.source.helm.valuesObject.deschedulerPolicy", "v1alpha2",
		},
		"HelmChart": {
			"apiVersion: helm.cattle.io/v1\nkind: HelmChart\n" + meta + "spec:\n  valuesContent: " + indented(values, 4), "spec.valuesContent.deschedulerPolicy", "v1alpha1",
		},
		"values":                       {"kind: CronJob\n" + values, "values of a chart: deschedulerPolicy", "v1alpha1"},
		"values without a kind":        {values, "values of a chart: deschedulerPolicy", "v1alpha1"},
		"values of an enclosing chart": {"descheduler:\n  kind: Deployment\n  deschedulerPolicy: {profiles: []}\n", "values of a chart: descheduler.deschedulerPolicy", "v1alpha2"},
		"values in a ConfigMap": {
			"apiVersion: v1\nkind: ConfigMap\n" + meta + "data:\n  other.txt: hello\n  values.yaml: " + indented(values, 4), "data.values.yaml.deschedulerPolicy", "v1alpha1",
		},
		"a Secret's data": {
			"apiVersion: v1\nkind: Secret\n" + meta + "data: {policy.yaml: " + base64.StdEncoding.EncodeToString([]byte(enclosedPolicy)) + "}\n", "data.policy.yaml", "the text",
		},
		"Kustomization, a patch": {
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches:\n  - patch: " +
				indented("- {op: replace, path: /data, value: {policy.yaml: \""+strings.ReplaceAll(enclosedPolicy, "\n", "\\n")+"\"}}\n", 6), "Kustomization patches[0].patch[0].value.policy.yaml", "the text",
		},
		"Kustomization, a literal": {
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nconfigMapGenerator:\n  - name: d\n    literals:\n      - " + indented("policy.yaml="+enclosedPolicy, 8),
			"Kustomization configMapGenerator[0].literals[0]", "the text",
		},
		"Kustomization, a chart": {
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts: [{name: descheduler, valuesInline: {deschedulerPolicy: {profiles: []}}}]\n",
			"Kustomization helmCharts[0].valuesInline.deschedulerPolicy", "v1alpha2",
		},
		"a HelmRelease in a List": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: helm.toolkit.fluxcd.io/v2\n  kind: HelmRelease\n  metadata: {name: d}\n  spec: {values: {deschedulerPolicy: {profiles: []}}}\n",
			"HelmRelease \"d\" spec.values.deschedulerPolicy", "v1alpha2",
		},
		"a policy in a List": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: operator.openshift.io/v1\n  kind: KubeDescheduler\n  metadata: {name: cluster}\n  spec: {profiles: [AffinityAndTaints]}\n",
			"List items[0]: ", "a separate file",
		},
		"a policy in a list of its kind": {
			"apiVersion: operator.openshift.io/v1\nkind: KubeDeschedulerList\nitems:\n- apiVersion: operator.openshift.io/v1\n  kind: KubeDescheduler\n  metadata: {name: cluster}\n  spec: {profiles: [AffinityAndTaints]}\n",
			"KubeDeschedulerList items[0]: ", "a separate file",
		},
		"a ConfigMap's binary data": {
			"apiVersion: v1\nkind: ConfigMap\n" + meta + "binaryData: {policy.yaml: " + base64.StdEncoding.EncodeToString([]byte(enclosedPolicy)) + "}\n", "binaryData.policy.yaml", "the text",
		},
		"a patch in a separate file, a policy": {
			"- {op: replace, path: /data/policy.yaml, value: \"" + strings.ReplaceAll(enclosedPolicy, "\n", "\\n") + "\"}\n", "patch [0].value: ", "the text",
		},
		"a patch in a separate file, a flag": {
			"- op: add\r\n  path: /spec/template/spec/containers/0/command/-\r\n  value: --max-pods-to-evict-per-node=10\r\n", "patch [0]: ", "`maxNoOfPodsToEvictPerNode: 10`",
		},
		"a patch as JSON": {
			`[{"op": "add", "path": "/spec/jobTemplate/spec/template/spec/containers/0/args", "value": ["--node-selector", "a=b"]}]`, "patch [0]: ", "`nodeSelector: a=b`",
		},
		"an image in a template of objects": {
			"apiVersion: template.openshift.io/v1\nkind: Template\n" + meta + "objects:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: d}\n  spec: {containers: [{image: kube-scheduler-extender}]}\n",
			"Template \"d\" objects[0].spec.containers[0].image", "a program that Evenkeel replaces runs here: use the image",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := ConvertFile("f.yaml", []byte(tc.text), kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, part := range result.Parts {
				if part.Action == rewritten.Enclosed && len(part.Notes) == 1 && part.Notes[0].Lossy {
					found = append(found, part.Found+": "+part.Notes[0].Text)
				} else {
					t.Errorf("a part that is %s: %+v", part.Action, part)
				}
			}
			if len(found) != 1 || !strings.Contains(found[0], tc.where) || !strings.Contains(found[0], tc.how) {
				t.Errorf("found %q, want it at %q with %q", found, tc.where, tc.how)
			}
			if string(result.Text) != tc.text {
				t.Errorf("the file was changed:\n%s", result.Text)
			}
		})
	}
}

// Text that is not a policy is not mistaken for one. Examples are the schema of a policy, and a
// text that mentions its kind.
func TestNothingEnclosed(t *testing.T) {
	for _, text := range []string{
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {schema: {deschedulerPolicy: {type: object, properties: {a: {type: string}}}}}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {readme.md: set deschedulerPolicy as you like}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {deschedulerPolicy.yaml: none}\n",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x}\nspec: {values: {deschedulerPolicy: {}}}\n",
		"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x}\nspec: {values: {cmdOptions: {v: 3}, nodeSelector: {a: b}}}\n",
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\npatches: [{patch: '[{op: add, path: /spec/containers/0/args/-, value: --v=3}]'}]\n",
	} {
		result, err := ConvertFile("f.yaml", []byte(text), kinds.All)
		if err != nil || len(result.Parts) != 1 || result.Parts[0].Action != rewritten.Kept {
			t.Errorf("%v, %+v of\n%s", err, result, text)
		}
	}
}

// The notes do not merely say to remove a flag that limits evictions. They name the policy field
// that replaces it, with its value, even if a shell runs the command.
func TestFlagsBecomeFields(t *testing.T) {
	const shell = `put the command as ["/evenkeel", "run"] here, and the arguments of descheduler from the script behind it`
	const unread = "this cannot be read completely: check"
	cases := map[string]struct {
		command string
		want    []string
		not     []string
	}{
		"args": {
			`command: [/bin/descheduler], args: [--policy-config-file, /p.yaml, --node-selector, pool=web, --max-pods-to-evict-per-node=10, --evict-local-storage-pods]`,
			[]string{"`nodeSelector: pool=web` in the DeschedulerPolicy", "`maxNoOfPodsToEvictPerNode: 10`", "`evictLocalStoragePods: true` among the args of DefaultEvictor"},
			[]string{"take out", "--policy-config-file"},
		},
		"no limit": {
			`command: [/bin/descheduler, --max-pods-to-evict-per-node=0, --evict-local-storage-pods=false, --max-pods-to-evict-per-namespace, "3", --feature-gates=A=true]`,
			[]string{"remove --max-pods-to-evict-per-node, which sets no limit", "remove --evict-local-storage-pods=false", "`maxNoOfPodsToEvictPerNamespace: 3`", "remove --feature-gates, which"},
			nil,
		},
		"a shell": {
			`command: [/bin/sh, -c], args: ["sleep 5; /bin/descheduler --policy-config-file=/p.yaml --node-selector='pool=web' --max-pods-to-evict-per-node 10 && echo --done"]`,
			[]string{shell, "`nodeSelector: pool=web`", "`maxNoOfPodsToEvictPerNode: 10`"}, []string{"--c", "--done", "replaces its first word"},
		},
		"a shell with other options": {
			`command: [bash, -ec, "exec descheduler --v=3 \\\n --evict-local-storage-pods"]`, []string{shell, "`evictLocalStoragePods: true`"}, []string{"--ec", "take out"},
		},
		"a shell without the command": {`command: [sh, -c, "./run.sh --fast"]`, []string{shell, unread}, []string{"--fast", "take out"}},
		"a directory of that name":    {`command: [sh, -c, "mkdir -p /tmp/descheduler && /bin/descheduler --max-pods-to-evict-per-node 3"]`, []string{"`maxNoOfPodsToEvictPerNode: 3`"}, []string{unread}},
		"quotes":                      {`command: [sh, -c, "descheduler --node-selector=\"pool in (a, b)\""]`, []string{"`nodeSelector: pool in (a, b)`"}, []string{unread}},
		"quotes in quotes":            {`command: [sh, -c, 'descheduler --node-selector "pool in (''a'', b)" --max-pods-to-evict-per-node=3']`, []string{"nodeSelector: ", "`maxNoOfPodsToEvictPerNode: 3`"}, []string{unread}},
		"no space before the end":     {`command: [sh, -c, "descheduler --node-selector=pool=a||true"]`, []string{"`nodeSelector: pool=a`"}, []string{"true"}},
		"redirections":                {`command: [sh, -c, "descheduler 2>&1 >/dev/stdout --max-pods-to-evict-per-node=3 &>x | tee -a --done"]`, []string{"`maxNoOfPodsToEvictPerNode: 3`"}, []string{"--done", "2", unread}},
		"parameters of the script":    {`command: [sh, -c, 'exec "$0" "$@"'], args: [/bin/descheduler, --max-pods-to-evict-per-node, "3"]`, []string{shell, "`maxNoOfPodsToEvictPerNode: 3`"}, []string{unread}},
		"a variable":                  {`command: [sh, -c, 'A=x; descheduler --v=1 $ARGS']`, []string{shell, "check what $ARGS stands for"}, nil},
		"a variable as a value":       {`command: [descheduler, --max-pods-to-evict-per-node=$(MAX)]`, []string{"replace --max-pods-to-evict-per-node with maxNoOfPodsToEvictPerNode in the DeschedulerPolicy: its value is not written here"}, []string{"MAX"}},
		"the output of a command":     {`command: [sh, -c, 'descheduler "$(cat /flags)"']`, []string{shell, unread}, nil},
		"a function":                  {`command: [sh, -c, 'f() { descheduler "$@"; }; f --node-fit']`, []string{shell, unread}, nil},
		"a text in the script":        {`command: [sh, -c, "descheduler $(cat <<E\n--node-fit\nE\n)"]`, []string{shell, unread}, nil},
		"other parameters":            {`command: [sh, -c, 'set -- --node-fit; descheduler "$@"', x]`, []string{shell, unread}, nil},
		"a shell in a shell":          {`command: [sh, -c, "bash -c 'descheduler --max-pods-to-evict-per-node=3'"]`, []string{shell, "`maxNoOfPodsToEvictPerNode: 3`"}, []string{unread}},
		"a shell through env":         {`command: [/usr/bin/env, sh, -c, descheduler --max-pods-to-evict-per-node 3]`, []string{shell, "`maxNoOfPodsToEvictPerNode: 3`"}, []string{"--c"}},
		"busybox's shell":             {`command: [/bin/busybox, sh, -c, -e, descheduler --max-pods-to-evict-per-node 3]`, []string{shell, "`maxNoOfPodsToEvictPerNode: 3`"}, []string{"--c", "--e,"}},
		"an init":                     {`command: [/tini, --, /bin/descheduler, --max-pods-to-evict-per-node, "3"]`, []string{"replaces all words up to /bin/descheduler", "`maxNoOfPodsToEvictPerNode: 3`"}, []string{"its first word"}},
		"a short flag":                {`command: [descheduler, -v4, --node-fit=True]`, []string{"`nodeFit: true`"}, []string{"take out"}},
		"a variable as the command":   {`command: [sh, -c, 'descheduler -v=1; $BIN --node-fit']`, []string{shell, unread}, nil},
		"parameters twice":            {`command: [sh, -c, '"$@"; "$@" --max-pods-to-evict-per-node=3', x, descheduler]`, []string{shell, unread}, nil},
		"endlessly nested shells":     {`command: [` + strings.Repeat(`sh, -c, '"$@"', x, `, 9) + `descheduler]`, []string{shell, unread}, nil},
		"an interpreter":              {`command: [python3, -c, "import os; os.execv('/bin/descheduler', ['descheduler', '--node-selector=pool=a'])"]`, []string{shell, unread}, []string{"--c", "take out", "its first word"}},
		"another user":                {`command: [su, -c, "descheduler --node-selector=pool=a", nobody]`, []string{shell, unread}, []string{"--c", "take out", "its first word"}},
		"an unrelated program":        {`command: [/wrap], args: [--policy-config-file, /etc/descheduler/policy.yaml, --node-fit]`, []string{"its first word", "`nodeFit: true`"}, []string{shell}},
		"negative numbers":            {`command: [descheduler, --max-pods-to-evict-per-node=-1]`, []string{"remove --max-pods-to-evict-per-node, which sets no limit"}, nil},
		"an unknown wrapper":          {`command: [sh, -c, "./wrap descheduler --max-pods-to-evict-per-node=3"]`, []string{shell, unread}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: d}\nspec: {containers: [{name: d, image: example.org/descheduler:v0.18.0, %s}]}\n", tc.command)
			result, err := ConvertFile("f.yaml", []byte(text), kinds.All)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, note := range result.Parts[0].Notes {
				said += note.Text + "\n"
			}
			for _, want := range tc.want {
				if !strings.Contains(said, want) || !strings.Contains(string(result.Text), want) {
					t.Errorf("want %q in\n%s", want, said)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(said, not) {
					t.Errorf("%q in\n%s", not, said)
				}
			}
		})
	}
}

// A container that runs descheduler is found anywhere in a pod, whatever its image is called, and
// in a patch, which has no image.
func TestWhereFlagsAreFound(t *testing.T) {
	const limit, want = `args: [--node-selector, pool=a, --max-pods-to-evict-per-node=3]`, "`maxNoOfPodsToEvictPerNode: 3`"
	containers := func(container string) string { return "{spec: {containers: [" + container + "]}}" }
	cases := map[string]struct{ kind, spec string }{
		"a patch, by name":             {"Deployment", "spec: {template: " + containers("{name: descheduler, "+limit+"}") + "}"},
		"a patch, by flags":            {"Deployment", "spec: {template: " + containers("{name: d, "+limit+"}") + "}"},
		"any image, by flags":          {"Deployment", "spec: {template: " + containers("{name: d, image: example.org/x, "+limit+"}") + "}"},
		"any image, a script":          {"Deployment", "spec: {template: " + containers(`{name: d, image: x, command: [sh, -ec, "exec /bin/descheduler --max-pods-to-evict-per-node 3"]}`) + "}"},
		"any image, an init container": {"Deployment", "spec: {template: " + containers(`{name: d, image: x, command: [tini, --], args: [/bin/descheduler, --max-pods-to-evict-per-node, "3"]}`) + "}"},
		"initContainers":               {"Pod", "spec: {initContainers: [{name: d, image: descheduler, " + limit + "}]}"},
		"DeploymentConfig":             {"DeploymentConfig", "spec: {template: " + containers("{name: d, image: descheduler, "+limit+"}") + "}"},
		"ReplicationController":        {"ReplicationController", "spec: {template: " + containers("{name: d, image: descheduler, "+limit+"}") + "}"},
		"PodTemplate":                  {"PodTemplate", "template: " + containers("{name: d, image: descheduler, "+limit+"}")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result := mustConvert(t, "apiVersion: v1\nkind: "+tc.kind+"\nmetadata: {name: d}\n"+tc.spec+"\n")
			if len(result.Parts) != 1 || result.Parts[0].Action != rewritten.Marked || !strings.Contains(string(result.Text), want) {
				t.Errorf("parts %+v, want %s in\n%s", result.Parts, want, result.Text)
			}
		})
	}
	for _, container := range []string{
		"{name: d, image: x, args: [--node-selector=pool=a]}", `{name: d, image: x, command: [sh, -c, "mkdir descheduler"]}`, `{name: d, image: x, command: [cp, /bin/descheduler, /x]}`,
	} {
		result := mustConvert(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: d}\nspec: {containers: ["+container+"]}\n")
		if len(result.Parts) != 1 || result.Parts[0].Action != rewritten.Kept {
			t.Errorf("%+v of %s", result.Parts, container)
		}
	}
}
