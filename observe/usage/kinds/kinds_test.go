package kinds

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

func env() access.Env {
	return access.Env{
		REST: &rest.Config{Host: "https://localhost"}, Now: time.Now, Timeout: time.Second, Interval: time.Second, QueriesPerSecond: 1,
		Windows: []usage.Window{usage.Avg5m}, Metrics: []usage.Metric{usage.CPU, usage.Memory},
	}
}

// Every kind is valid by default and makes a reader with its name.
func TestEveryKindIsComplete(t *testing.T) {
	for _, kind := range All {
		d := kind.Describe()
		t.Run(d.Name, func(t *testing.T) {
			config := All.Default(d.Name)
			if errs := config.Validate(nil, nil); len(errs) > 0 {
				t.Errorf("the defaults are wrong: %v", errs)
			}
			if p, ok := config.(*prometheus.Config); ok {
				p.Address = "http://localhost:9090" // the address has no default
			}
			e := env()
			reader, err := New(config, &e)
			if err != nil || reader.Name() != d.Name {
				t.Errorf("got %v, %v; want a reader called %s", reader, err, d.Name)
			}
		})
	}
	if All.Default("Telegraf") != nil {
		t.Error("there are defaults of a kind that is none")
	}
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
			if _, err := New(new(metricsserver.Config), &e); err == nil {
				t.Error("accepted")
			}
		})
	}
}
