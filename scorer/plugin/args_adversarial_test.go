package plugin

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evenkeel/evenkeel/compat/process"
)

// Args are read strictly: a mistake is reported in one line that names the
// field and what is allowed.
func TestWrongArgs(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'i'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	cases := map[string]struct{ plugin, args, want string }{
		"a field of another plugin":   {EvenkeelLoad, `{"prometheusApiAddr": "http://x"}`, `prometheusApiAddr: Forbidden: unknown field "prometheusApiAddr" (allowed: namespace, policyConfigFile)`},
		"a name in other letters":     {EvenkeelLoad, `{"PolicyConfigFile": "x"}`, `PolicyConfigFile: Forbidden: unknown field "PolicyConfigFile", did you mean "policyConfigFile"?`},
		"a file that is a number":     {EvenkeelLoad, `{"policyConfigFile": 1}`, `policyConfigFile: Invalid value: 1: must be text`},
		"a field twice":               {EvenkeelLoad, `{"namespace": "a", "namespace": "b"}`, `"namespace" already set`},
		"a list":                      {"Dynamic", `["x"]`, `args must be a mapping`},
		"a text":                      {"Dynamic", `x`, `args must be a mapping`},
		"an empty path":               {"Dynamic", `{"policyConfigPath": ""}`, `policyConfigPath: Required value: must name a file`},
		"no address":                  {"MemRealUsage", `{}`, `prometheusApiAddr: Required value: must be the URL of Prometheus`},
		"no args":                     {"CpuRealUsage", ``, `prometheusApiAddr: Required value`},
		"an address without a scheme": {"MemRealUsage", `{"prometheusApiAddr": "10.0.0.1:9090"}`, `prometheusApiAddr: Invalid value: "10.0.0.1:9090": must be a URL such as`},
		"an address with a password":  {"MemRealUsage", `{"prometheusApiAddr": "http://me:secret@p"}`, `prometheusApiAddr: Invalid value: "...@p"`},
		"seconds as text":             {"MemRealUsage", `{"prometheusApiAddr": "http://p", "queryMetricTimeSeconds": "10s"}`, `queryMetricTimeSeconds: Invalid value: "10s": must be a whole number`},
		"seconds in part":             {"MemRealUsage", `{"prometheusApiAddr": "http://p", "queryMetricTimeSeconds": 1.5}`, `queryMetricTimeSeconds: Invalid value: 1.5: must be a whole number`},
		"no seconds at all":           {"MemRealUsage", `{"prometheusApiAddr": "http://p", "queryMetricIntervalSeconds": 0}`, `queryMetricIntervalSeconds: Invalid value: 0: must be a whole number of seconds above 0`},
		"negative seconds":            {"MemRealUsage", `{"prometheusApiAddr": "http://p", "queryMetricTimeSeconds": -1}`, `queryMetricTimeSeconds: Invalid value: -1`},
		"huge":                        {EvenkeelLoad, `{"namespace": "` + strings.Repeat("x", 1<<20) + `"}`, `at most 65536 are allowed`},
		"a bomb":                      {EvenkeelLoad, bomb, ``},
		"binary":                      {EvenkeelLoad, "\x00\x01\xff", ``},
		"nested without end":          {EvenkeelLoad, strings.Repeat("[", 20_000), ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := NewSides(nil, legacy).read(tc.plugin, &runtime.Unknown{Raw: []byte(tc.args), ContentType: runtime.ContentTypeJSON})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q in it", err, tc.want)
			}
			if text := err.Error(); !strings.HasPrefix(text, "args") || strings.Contains(text, "\n") || strings.Contains(text, "secret") || len(text) > 500 {
				t.Errorf("not one clear line about the args: %q", text)
			}
		})
	}
}

// Args of another plugin, passed by a wiring mistake, are rejected as well.
func TestArgsOfAnotherType(t *testing.T) {
	if _, err := NewSides(nil, nil).read(EvenkeelLoad, &runtime.Unknown{}); err != nil {
		t.Errorf("empty args: %v", err)
	}
	if _, err := NewSides(nil, nil).read(EvenkeelLoad, nil); err != nil {
		t.Errorf("no args: %v", err)
	}
	if _, err := NewSides(nil, nil).read(EvenkeelLoad, &metav1.Status{}); err == nil {
		t.Error("args of another type are taken")
	}
}

// Whatever the args, reading them fails only with an error.
func FuzzArgs(f *testing.F) {
	f.Add(`{"prometheusApiAddr": "http://p", "queryMetricTimeSeconds": 10}`)
	f.Add(`{"policyConfigPath": "/x", "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DynamicArgs"}`)
	f.Add(`{"namespace": null}`)
	f.Fuzz(func(t *testing.T, args string) {
		for _, name := range append(process.PluginNames(), EvenkeelLoad) {
			asked, err := NewSides(nil, legacy).read(name, &runtime.Unknown{Raw: []byte(args)})
			if err == nil && name != EvenkeelLoad && asked.PolicyFile == "" && asked.Given == nil {
				t.Errorf("%s: %q asks for no policy", name, args)
			}
		}
	})
}
