package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removeduplicates"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/policyfile"
)

// panicking holds upstream's functions that see a plugin's arguments before anything runs, each
// with a replacement that panics.
var panicking = map[string]func(*pluginregistry.PluginUtilities){
	"validator": func(u *pluginregistry.PluginUtilities) {
		u.PluginArgValidator = func(runtime.Object) error { panic("no such luck") }
	},
	"defaulter": func(u *pluginregistry.PluginUtilities) {
		u.PluginArgDefaulter = func(runtime.Object) { panic("no such luck") }
	},
	"constructor": func(u *pluginregistry.PluginUtilities) {
		u.PluginBuilder = func(context.Context, runtime.Object, frameworktypes.Handle) (frameworktypes.Plugin, error) {
			panic("no such luck")
		}
	},
}

// panicIn makes RemoveDuplicates panic until the test ends.
func panicIn(t *testing.T, where string) {
	policyfile.SetupPlugins()
	whole := pluginregistry.PluginRegistry[removeduplicates.PluginName]
	t.Cleanup(func() { pluginregistry.PluginRegistry[removeduplicates.PluginName] = whole })
	broken := whole
	panicking[where](&broken)
	pluginregistry.PluginRegistry[removeduplicates.PluginName] = broken
}

// A policy that makes upstream's code panic is rejected like any other invalid policy, and the
// process keeps its current one.
func TestAPanicRefusesThePolicy(t *testing.T) {
	for where := range panicking {
		t.Run(where, func(t *testing.T) {
			r := newReloading(t, byUsage+evictAt(60))
			panicIn(t, where)
			if done := r.changed(t.Context(), []byte(byDuplicates+evictAt(50)), nil); !done {
				t.Error("the file is tried again")
			}
			if got := r.evictLine(); got != 60 {
				t.Errorf("evict line %v, want the old policy's 60", got)
			}
			const want = "Warning PolicyInvalid FILE: internal error: using this policy panicked: no such luck"
			if told := r.told(); len(told) != 1 || !strings.HasPrefix(told[0], want) {
				t.Errorf("Events %q, want %q", told, want)
			}
			if got := r.state(); got != "ok 1, invalid 1, error 0, generation 1, successful 0" {
				t.Errorf("metrics: %s", got)
			}
			if done := r.changed(t.Context(), []byte(byUsage+evictAt(55)), nil); !done || r.evictLine() != 55 {
				t.Errorf("the next policy: done %v, evict line %v, want 55", done, r.evictLine())
			}
		})
	}
}

// A process that starts with such a policy exits with the code for an invalid policy.
func TestAPanicAtStartIsAnError(t *testing.T) {
	for _, where := range []string{"validator", "defaulter"} { // the constructor needs an API server
		t.Run(where, func(t *testing.T) {
			panicIn(t, where)
			path := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(path, []byte(byDuplicates), 0o600); err != nil {
				t.Fatal(err)
			}
			options := flags.Options{PolicyFile: path, Interval: time.Minute, Namespace: "kube-system", DryRun: true, REST: &rest.Config{Host: "http://127.0.0.1:1"}}
			_, err := newRun(t.Context(), options)
			if exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), "using this policy panicked: no such luck") {
				t.Errorf("error %v with code %d", err, exit.Code(err))
			}
		})
	}
}
