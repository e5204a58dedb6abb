package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// realUsage runs our plugin with its defaults.
	realUsage = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: RealUsageLowNodeUtilization
    args: {}
  plugins:
    balance:
      enabled: [RealUsageLowNodeUtilization]
`
	// plainDescheduler runs one upstream plugin.
	plainDescheduler = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: plain
  pluginConfig:
  - name: RemoveDuplicates
  plugins:
    balance:
      enabled: [RemoveDuplicates]
`
	loadPolicyHead = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"
)

// kubeconfigOf returns a kubeconfig file for a server.
func kubeconfigOf(server string) string {
	return `
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "` + server + `"}}]
contexts: [{name: c, context: {cluster: c}}]
`
}

// emptyServer is the API server of a cluster without objects. It rejects every request if stranger is set.
func emptyServer(t *testing.T, stranger bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(code int, reason string) {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, reason, code)
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case stranger:
			refuse(http.StatusUnauthorized, "Unauthorized")
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
		case r.URL.Path == "/api" || r.URL.Path == "/apis":
			fmt.Fprint(w, `{}`)
		default:
			refuse(http.StatusNotFound, "NotFound")
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// badInputFiles writes the files that the cases below name into a separate folder.
func badInputFiles(t *testing.T) string {
	t.Helper()
	closed := httptest.NewServer(nil)
	closed.Close()
	withArgs := func(args string) string {
		return strings.Replace(realUsage, "args: {}", "args: "+args, 1)
	}
	const byClass = "- name: DefaultEvictor\n    args: {priorityThreshold: {name: gold}}\n"
	files := map[string]string{
		"good.yaml":             realUsage,
		"empty.yaml":            "",
		"comments.yaml":         "# nothing yet\n---\n# nor here\n",
		"broken.yaml":           "apiVersion: [\n",
		"wrong-kind.yaml":       "apiVersion: apps/v1\nkind: Deployment\n",
		"old-version.yaml":      "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {RemoveTriplets: {enabled: true}}\n",
		"list.yaml":             "- apiVersion: descheduler/v1alpha2\n",
		"twice.yaml":            realUsage + "---" + realUsage,
		"no-profiles.yaml":      "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n",
		"only-load.yaml":        loadPolicyHead + "eviction: {defaultProfile: false}\n",
		"top-field.yaml":        plainDescheduler + "maxNoOfPodsToEvictPerNodes: 2\n",
		"profile-field.yaml":    strings.Replace(plainDescheduler, "pluginConfig:", "pluginConfigs:", 1),
		"no-plugin.yaml":        strings.Replace(plainDescheduler, "enabled: [RemoveDuplicates]", "enabled: [RemoveTriplets]", 1),
		"no-config.yaml":        strings.Replace(plainDescheduler, "- name: RemoveDuplicates", "- name: RemoveFailedPods", 1),
		"upstream-args.yaml":    strings.Replace(plainDescheduler, "- name: RemoveDuplicates", "- name: RemoveDuplicates\n    args: {excludeOwners: [x]}", 1),
		"load-top-field.yaml":   loadPolicyHead + "line: {}\n",
		"load-field.yaml":       loadPolicyHead + "usage: {sampleIntervals: 15s}\n",
		"load-type.yaml":        loadPolicyHead + "minGapPercent: three\n",
		"load-range.yaml":       loadPolicyHead + "lines: {cpu: {evict: 165}}\n",
		"two-mistakes.yaml":     loadPolicyHead + "lines: {cpu: {evict: 165}, memory: {low: 76}}\n",
		"load-nan.yaml":         loadPolicyHead + "minGapPercent: .nan\n",
		"load-low.yaml":         loadPolicyHead + "lines: {memory: {low: 76}}\n",
		"load-reject.yaml":      loadPolicyHead + "lines: {cpu: {reject: 65}}\n",
		"load-resource.yaml":    loadPolicyHead + "lines: {cpu: {}, gpu: {evict: 50}}\n",
		"args-range.yaml":       withArgs("{thresholds: {cpu: -1}, targetThresholds: {cpu: 60}}"),
		"args-low.yaml":         withArgs("{thresholds: {cpu: 60}, targetThresholds: {cpu: 60}}"),
		"args-field.yaml":       withArgs("{threshold: {cpu: 60}}"),
		"args-reject.yaml":      withArgs("{thresholds: {cpu: 58}, targetThresholds: {cpu: 60}}"),
		"priority-class.yaml":   strings.Replace(plainDescheduler, "- name: RemoveDuplicates", byClass+"  - name: RemoveDuplicates", 1),
		"wrong-point.yaml":      strings.Replace(plainDescheduler, "balance:", "deschedule:", 1),
		"unreachable.conf":      kubeconfigOf(closed.URL),
		"nobody.conf":           kubeconfigOf(emptyServer(t, true)),
		"live.conf":             kubeconfigOf(emptyServer(t, false)),
		"empty.conf":            "",
		"broken.conf":           "clusters: [",
		"no-context.conf":       "apiVersion: v1\nkind: Config\ncurrent-context: gone\n",
		"certificate-only.conf": "apiVersion: v1\nkind: Config\n",
	}
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A mistake leads to one line that names the file or flag and the problem. The exit code is 2 if
// the user's input is wrong, and 1 if the cause is in the environment.
func TestBadInputIsToldInOneLine(t *testing.T) {
	const usage, environment = 2, 1
	policyFile := func(name string) []string {
		return []string{"run", "--kubeconfig", "unreachable.conf", "--policy-config-file", name}
	}
	live := func(name string) []string {
		return []string{"run", "--kubeconfig", "live.conf", "--policy-config-file", name, "--metrics-address", "0"}
	}
	kubeconfig := func(name string) []string {
		return []string{"run", "--kubeconfig", name, "--policy-config-file", "good.yaml"}
	}
	tests := map[string]struct {
		args []string
		code int
		// says holds the words that each line must contain, in order.
		says []string
	}{
		"no policy file":                        {policyFile("gone.yaml"), usage, []string{"gone.yaml: no such file"}},
		"a folder instead of a policy":          {policyFile("."), usage, []string{"reading the policy: read .: is a directory"}},
		"an empty policy":                       {policyFile("empty.yaml"), usage, []string{"empty.yaml: the file holds no document"}},
		"a policy of comments":                  {policyFile("comments.yaml"), usage, []string{"comments.yaml: the file holds no document"}},
		"broken YAML":                           {policyFile("broken.yaml"), usage, []string{"broken.yaml: not YAML: line 1"}},
		"another kind":                          {policyFile("wrong-kind.yaml"), usage, []string{`wrong-kind.yaml: line 1: apiVersion "apps/v1" with kind "Deployment"`}},
		"a mistake in a legacy format":          {policyFile("old-version.yaml"), usage, []string{"old-version.yaml: line 3, column 14: descheduler/v1alpha1: strategies[RemoveTriplets]: "}},
		"a list":                                {policyFile("list.yaml"), usage, []string{"list.yaml: line 1: the document must be a mapping"}},
		"two policies of the same kind":         {policyFile("twice.yaml"), usage, []string{"twice.yaml: line 13: a second descheduler/v1alpha2"}},
		"no profiles":                           {policyFile("no-profiles.yaml"), usage, []string{"no-profiles.yaml: line 1, column 1: DeschedulerPolicy: profiles: Required"}},
		"nothing to run":                        {policyFile("only-load.yaml"), usage, []string{"only-load.yaml: there is nothing to run: it has no DeschedulerPolicy"}},
		"no policy at all":                      {[]string{"run", "--kubeconfig", "unreachable.conf"}, usage, []string{"policy: there is no policy"}},
		"an unknown top-level field":            {policyFile("top-field.yaml"), usage, []string{`top-field.yaml: line 11, column 1: DeschedulerPolicy: maxNoOfPodsToEvictPerNodes: unknown field "maxNoOfPodsToEvictPerNodes", did you mean "maxNoOfPodsToEvictPerNode"?`}},
		"an unknown field of a profile":         {policyFile("profile-field.yaml"), usage, []string{`profile-field.yaml: line 6, column 3: DeschedulerPolicy: profiles[0].pluginConfigs: unknown field "pluginConfigs", did you mean "pluginConfig"?`}},
		"an unknown plugin":                     {policyFile("no-plugin.yaml"), usage, []string{`no-plugin.yaml: line 10, column 17: DeschedulerPolicy: profiles[0].plugins.balance.enabled[0]: there is no plugin "RemoveTriplets"`}},
		"a plugin without configuration":        {policyFile("no-config.yaml"), usage, []string{`plugin "RemoveDuplicates" has no entry in the profile's pluginConfig; add one: - name: RemoveDuplicates`}},
		"a plugin at the wrong extension point": {policyFile("wrong-point.yaml"), usage, []string{`plugins.deschedule.enabled[0]: plugin "RemoveDuplicates" cannot be enabled here, but under balance`}},
		"an unknown priority class":             {live("priority-class.yaml"), usage, []string{`priority-class.yaml: profile "plain": DefaultEvictor: priorityThreshold.name: there is no priority class "gold"`}},
		"an unknown upstream argument":          {policyFile("upstream-args.yaml"), usage, []string{`args.excludeOwners: unknown field "excludeOwners", did you mean "excludeOwnerKinds"? (allowed: `}},
		"an unknown LoadPolicy field":           {policyFile("load-top-field.yaml"), usage, []string{`load-top-field.yaml: line 3, column 1: LoadPolicy: line: unknown field "line", did you mean "lines"?`}},
		"an unknown nested field":               {policyFile("load-field.yaml"), usage, []string{`load-field.yaml: line 3, column 9: LoadPolicy: usage.sampleIntervals: unknown field "sampleIntervals", did you mean "sampleInterval"?`}},
		"a word instead of a number":            {policyFile("load-type.yaml"), usage, []string{"load-type.yaml: line 3, column 16: LoadPolicy: minGapPercent"}},
		"not a number":                          {policyFile("load-nan.yaml"), usage, []string{"load-nan.yaml: line 3"}},
		"a line above 100 %":                    {policyFile("load-range.yaml"), usage, []string{"load-range.yaml: line 3, column 22: LoadPolicy: lines[cpu].evict: Invalid value: 165"}},
		"two mistakes": {policyFile("two-mistakes.yaml"), usage, []string{
			"two-mistakes.yaml: line 3, column 22: LoadPolicy: lines[cpu].evict: Invalid value: 165", "two-mistakes.yaml: line 3, column 42: LoadPolicy: lines[memory].low: Invalid value: 76",
		}},
		"low above reject":              {policyFile("load-low.yaml"), usage, []string{"load-low.yaml: line 3, column 23: LoadPolicy: lines[memory].low: Invalid value: 76"}},
		"reject at the evict line":      {policyFile("load-reject.yaml"), usage, []string{"load-reject.yaml: line 3, column 23: LoadPolicy: lines[cpu].reject: Invalid value: 65"}},
		"an unknown resource":           {policyFile("load-resource.yaml"), usage, []string{"load-resource.yaml: line 3, column 18: LoadPolicy: lines[gpu]"}},
		"a threshold out of range":      {policyFile("args-range.yaml"), usage, []string{"args-range.yaml: line 8, column 30: DeschedulerPolicy: profiles[0].pluginConfig[0].args.thresholds[cpu]: Invalid value: -1"}},
		"low threshold at the high one": {policyFile("args-low.yaml"), usage, []string{"args-low.yaml: line 8, column 30: DeschedulerPolicy: profiles[0].pluginConfig[0].args.thresholds[cpu]: Invalid value: 60"}},
		"an unknown argument of ours":   {policyFile("args-field.yaml"), usage, []string{`args.threshold: unknown field "threshold", did you mean "thresholds"? (allowed: `}},
		"low threshold above reject":    {policyFile("args-reject.yaml"), usage, []string{"args-reject.yaml: line 8, column 30: DeschedulerPolicy: profiles[0].pluginConfig[0].args.thresholds[cpu]: Invalid value: 58: with it, lines[cpu].low: Invalid value: 58"}},

		"no kubeconfig file":            {kubeconfig("gone.conf"), usage, []string{"--kubeconfig: stat gone.conf: no such file"}},
		"an empty kubeconfig":           {kubeconfig("empty.conf"), environment, []string{`"empty.conf": invalid configuration`}},
		"a kubeconfig without clusters": {kubeconfig("certificate-only.conf"), environment, []string{`"certificate-only.conf": invalid configuration`}},
		"a broken kubeconfig":           {kubeconfig("broken.conf"), environment, []string{`"broken.conf": error loading config file`}},
		"a missing context":             {kubeconfig("no-context.conf"), environment, []string{`"no-context.conf"`}},
		"no cluster at all":             {[]string{"run", "--policy-config-file", "good.yaml"}, environment, []string{"finding the API server: invalid configuration"}},
		"an API server that is down":    {kubeconfig("unreachable.conf"), environment, []string{"connection refused"}},
		"a priority class when down":    {policyFile("priority-class.yaml"), environment, []string{"connection refused"}},
		"an unknown token":              {kubeconfig("nobody.conf"), environment, []string{"Unauthorized"}},
		"plan when down":                {[]string{"plan", "--kubeconfig", "unreachable.conf"}, environment, []string{"connection refused"}},
		"top when down":                 {[]string{"top", "--kubeconfig", "unreachable.conf"}, environment, []string{"connection refused"}},

		"an unknown command":              {[]string{"descheduel"}, usage, []string{`unknown command "descheduel"`}},
		"an unknown flag":                 {[]string{"run", "--dryrun"}, usage, []string{`unknown flag: --dryrun, did you mean "--dry-run"?`}},
		"too many arguments":              {[]string{"run", "now"}, usage, []string{`evenkeel run takes no arguments, got ["now"]`}},
		"a bad duration":                  {[]string{"run", "--descheduling-interval", "5"}, usage, []string{"--descheduling-interval"}},
		"a negative interval":             {[]string{"run", "--descheduling-interval", "-5m"}, usage, []string{"--descheduling-interval: -5m0s is negative"}},
		"a schedule of words":             {[]string{"run", "--schedule", "nonsense"}, usage, []string{`--schedule: reading schedule "nonsense"`}},
		"a schedule out of range":         {[]string{"serve", "--schedule", "61 * * * *", "--insecure-serving"}, usage, []string{`--schedule: reading schedule "61 * * * *"`}},
		"schedule and interval":           {[]string{"run", "--schedule", "@hourly", "--descheduling-interval", "5m"}, usage, []string{"--schedule and --descheduling-interval cannot be used together"}},
		"serve without cycles":            {[]string{"serve", "--descheduling-interval", "0"}, usage, []string{"serve needs --descheduling-interval or --schedule"}},
		"an unknown output format":        {[]string{"plan", "-o", "xml"}, usage, []string{`--output: "xml" is not one of table|wide|name|json|yaml`}},
		"an unknown output format of top": {[]string{"top", "-o", "csv"}, usage, []string{`--output: "csv" is not one of table|wide|json|yaml|name`}},
		"an unknown color mode":           {[]string{"top", "--color", "sometimes"}, usage, []string{`--color: "sometimes" is not one of auto|always|never`}},
		"watching JSON":                   {[]string{"top", "--watch", "-o", "json"}, usage, []string{"--watch can be combined with -o table and -o wide, not with -o json"}},
		"an address without a port":       {[]string{"extender", "--listen-address", "localhost"}, usage, []string{"--listen-address"}},
		"a key without a certificate":     {[]string{"extender", "--tls-private-key-file", "key.pem"}, usage, []string{"--tls-cert-file and --tls-private-key-file must be used together"}},
		"plain HTTP for everybody":        {[]string{"extender"}, usage, []string{"--listen-address :8888 serves plain HTTP and is not a loopback address"}},
		"a logging format":                {[]string{"run", "--logging-format", "xml"}, usage, []string{`"xml"`}},
		"a Lease that is too short":       {[]string{"run", "--leader-elect-lease-duration", "1s"}, usage, []string{"--leader-elect-lease-duration 1s"}},
	}
	dir := badInputFiles(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runIn(t, dir, tc.args...)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			if got.stdout != "" {
				t.Errorf("standard output: %q, want nothing", got.stdout)
			}
			lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
			if len(lines) != len(tc.says) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tc.says), got.stderr)
			}
			for i, says := range tc.says {
				if !strings.Contains(lines[i], says) {
					t.Errorf("line %d: %q, want it to say %q", i+1, lines[i], says)
				}
			}
			if !strings.HasPrefix(lines[0], "evenkeel: ") {
				t.Errorf("the line does not name the program: %q", lines[0])
			}
		})
	}
}

// result holds how a run of evenkeel ended and what it printed.
type result struct {
	code           int
	stdout, stderr string
}

// runIn runs evenkeel to its end in a folder, isolated from the machine's configuration.
func runIn(t *testing.T, dir string, args ...string) result {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Args[0] = "evenkeel"
	command.Dir, command.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), asProgram + "=1"}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatalf("running evenkeel %s: %v", strings.Join(args, " "), err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
