package schedulerplugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/migration/realusage"
	"github.com/evenkeel/evenkeel/policy"
)

// The names that the plugin is registered under.
const (
	// EvenkeelLoad goes by a policy file of Evenkeel's.
	EvenkeelLoad = "EvenkeelLoad"
	// MemRealUsage and CPURealUsage have the names and args of the plugins of that project.
	MemRealUsage = "MemRealUsage"
	CPURealUsage = "CpuRealUsage"
	// Dynamic has the name and args of crane-scheduler's.
	Dynamic = "Dynamic"
)

// Names returns all names that the plugin is registered under.
func Names() []string { return []string{EvenkeelLoad, MemRealUsage, CPURealUsage, Dynamic} }

// defaultDynamicPolicy is where crane-scheduler's plugin looks for its policy.
const defaultDynamicPolicy = "/etc/kubernetes/dynamic-scheduler-policy.yaml"

// EvenkeelLoadArgs are the args of EvenkeelLoad.
type EvenkeelLoadArgs struct {
	// PolicyConfigFile is the policy file, as in --policy-config-file. Without one the defaults hold.
	PolicyConfigFile string `json:"policyConfigFile"`
	// Namespace is where the process that evicts keeps its ledger; empty is that of this pod, else kube-system.
	Namespace string `json:"namespace"`
}

// RealUsageArgs are the args of MemRealUsage and CpuRealUsage.
type RealUsageArgs struct {
	// PrometheusAPIAddr is the URL of Prometheus. Required.
	PrometheusAPIAddr string `json:"prometheusApiAddr"`
	// QueryMetricTimeSeconds bounds a query, QueryMetricIntervalSeconds is the time between two; 10 where they are not given.
	QueryMetricTimeSeconds     *int `json:"queryMetricTimeSeconds"`
	QueryMetricIntervalSeconds *int `json:"queryMetricIntervalSeconds"`
}

// DynamicArgs are the args of Dynamic.
type DynamicArgs struct {
	// PolicyConfigPath is a DynamicSchedulerPolicy, or a policy file of Evenkeel's.
	PolicyConfigPath string `json:"policyConfigPath"`
}

// request is what the args of a plugin ask for.
type request struct {
	// path is the policy's file; given is a policy that is in none, and text what it says.
	path      string
	given     *policy.File
	text      string
	namespace string
	// parts says that the plugin may be the only one that scores.
	parts bool
	// follow says that moves of the process that evicts count.
	follow bool
}

// read turns the args of a plugin into a policy.
func read(name string, object runtime.Object) (request, error) {
	switch name {
	case MemRealUsage:
		return readRealUsage(realusage.Memory, object)
	case CPURealUsage:
		return readRealUsage(realusage.CPU, object)
	case Dynamic:
		return readDynamic(object)
	}
	return readEvenkeelLoad(object)
}

func readEvenkeelLoad(object runtime.Object) (request, error) {
	var args EvenkeelLoadArgs
	if err := decode(object, &args, "policyConfigFile", "namespace"); err != nil {
		return request{}, err
	}
	return request{path: args.PolicyConfigFile, namespace: cmp.Or(args.Namespace, os.Getenv("POD_NAMESPACE")), follow: true}, nil
}

// readDynamic leaves the ledger alone: crane-scheduler's users have granted nothing for it, and nothing of theirs evicts.
func readDynamic(object runtime.Object) (request, error) {
	args := DynamicArgs{PolicyConfigPath: defaultDynamicPolicy}
	if err := decode(object, &args, "policyConfigPath"); err != nil {
		return request{}, err
	}
	if args.PolicyConfigPath == "" {
		return request{}, errors.New("args: policyConfigPath: must name a file")
	}
	return request{path: args.PolicyConfigPath}, nil
}

// defaultSeconds is how long a query may take, and the time between two, where the args do not say.
const defaultSeconds = 10

func readRealUsage(resource realusage.Resource, object runtime.Object) (request, error) {
	var args RealUsageArgs
	if err := decode(object, &args, "prometheusApiAddr", "queryMetricTimeSeconds", "queryMetricIntervalSeconds"); err != nil {
		return request{}, err
	}
	document, errs := realusage.Preset(realusage.Settings{
		Resource: resource, PrometheusURL: args.PrometheusAPIAddr,
		TimeoutSeconds: orDefault(args.QueryMetricTimeSeconds), IntervalSeconds: orDefault(args.QueryMetricIntervalSeconds),
	})
	if len(errs) > 0 {
		return request{}, fmt.Errorf("args: %w", errs.ToAggregate())
	}
	text, err := yaml.Marshal(document.Object)
	if err != nil {
		return request{}, fmt.Errorf("writing the policy: %w", err)
	}
	file, err := policy.Load("args", text)
	if err != nil {
		return request{}, err
	}
	file.Converted = append(file.Converted, document)
	return request{given: file, text: string(text), parts: true}, nil
}

func orDefault(seconds *int) int {
	if seconds == nil {
		return defaultSeconds
	}
	return *seconds
}

// maxArgsBytes bounds the args.
const maxArgsBytes = 64 << 10

// decode reads args strictly: each field once, by its exact name and of its type. apiVersion and kind, which kube-scheduler
// has checked, may be there.
func decode(object runtime.Object, into any, allowed ...string) error {
	if object == nil {
		return nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return fmt.Errorf("args are of type %T, which is another plugin's", object)
	}
	raw := bytes.TrimSpace(unknown.Raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if len(raw) > maxArgsBytes {
		return fmt.Errorf("args have %d bytes; at most %d are allowed", len(raw), maxArgsBytes)
	}
	text, err := yaml.YAMLToJSONStrict(raw) // refuses a field that is given twice
	if err != nil {
		return fmt.Errorf("args: %s", oneLine(err))
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return errors.New("args must be a mapping")
	}
	delete(given, "apiVersion")
	delete(given, "kind")
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("args: field %q is not known; allowed: %s", name, strings.Join(allowed, ", "))
		}
		if err := setField(into, name, given[name]); err != nil {
			return err
		}
	}
	return nil
}

// setField decodes one field, so that an error can name it.
func setField(into any, name string, value json.RawMessage) error {
	one, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err == nil {
		err = json.Unmarshal(one, into)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("args: %s: %s given, must be %s", name, wrong.Value, kindOf(wrong))
	}
	if err != nil {
		return fmt.Errorf("args: %s: %s", name, oneLine(err))
	}
	return nil
}

func kindOf(wrong *json.UnmarshalTypeError) string {
	if wrong.Type.Kind().String() == "int" {
		return "a whole number"
	}
	return "a string"
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
