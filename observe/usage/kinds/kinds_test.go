package kinds_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

func env() access.Env {
	return access.Env{
		REST: &rest.Config{Host: "https://localhost"}, Now: time.Now, Timeout: time.Second, Interval: time.Second, QueriesPerSecond: 1,
		ReadSecret: func(context.Context, string, string, string) (string, error) {
			return "", errors.New("there is no Secret")
		},
		Windows: []usage.Window{usage.Avg5m}, Metrics: []usage.Metric{usage.CPU, usage.Memory},
	}
}

// The defaults of every kind are valid, and a reader with the kind's name can be made from them. If
// a kind requires a setting without a default, such as an address, the kind's example is used
// instead.
func TestEveryKindIsComplete(t *testing.T) {
	examples := examples(t)
	for _, kind := range kinds.All {
		name := kind.Describe().Name
		t.Run(name, func(t *testing.T) {
			config := kinds.All.Default(name)
			if errs := config.Validate(nil, nil); len(errs) > 0 {
				t.Errorf("the defaults are wrong: %v", errs)
			}
			var errs []error
			for _, config := range append([]source.Config{config}, examples[name]...) {
				e := env()
				reader, err := kinds.New(config, &e)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				if reader.Name() != name {
					t.Errorf("got a reader called %s, want %s", reader.Name(), name)
				}
				return
			}
			t.Errorf("neither the defaults nor policy/testdata/examples make a reader: %v", errors.Join(errs...))
		})
	}
	if kinds.All.Default("Telegraf") != nil {
		t.Error("an unknown kind has defaults")
	}
}

// examples returns the sources of the documentation's examples by their types.
func examples(t *testing.T) map[string][]source.Config {
	t.Helper()
	files, err := filepath.Glob("../../../policy/testdata/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing examples: %d files, %v", len(files), err)
	}
	found := map[string][]source.Config{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := policy.Load(file, text, kinds.All)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range loaded.Load.Usage.Sources {
			found[s.Type] = append(found[s.Type], s.Config)
		}
	}
	return found
}

func TestNewRefusesAnIncompleteEnv(t *testing.T) {
	for name, spoil := range map[string]func(*access.Env){
		"no API server":       func(e *access.Env) { e.REST = nil },
		"no clock":            func(e *access.Env) { e.Now = nil },
		"no timeout":          func(e *access.Env) { e.Timeout = 0 },
		"a negative timeout":  func(e *access.Env) { e.Timeout = -1 },
		"no interval":         func(e *access.Env) { e.Interval = 0 },
		"no rate of requests": func(e *access.Env) { e.QueriesPerSecond = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			e := env()
			spoil(&e)
			if _, err := kinds.New(new(metricsserver.Config), &e); err == nil {
				t.Error("accepted")
			}
		})
	}
}
