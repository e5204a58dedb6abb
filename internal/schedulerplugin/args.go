package schedulerplugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/migration/compat"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// EvenkeelLoad is the name of the plugin that uses an Evenkeel policy file.
const EvenkeelLoad = "EvenkeelLoad"

// Names returns all names that the plugin is registered under.
func Names() []string { return append([]string{EvenkeelLoad}, compat.PluginNames()...) }

// EvenkeelLoadArgs are the args of EvenkeelLoad.
type EvenkeelLoadArgs struct {
	// PolicyConfigFile is the policy file, as in --policy-config-file. Without
	// one the defaults apply.
	PolicyConfigFile string `json:"policyConfigFile"`
	// Namespace is where the evicting process keeps its ledger; empty means
	// that of this pod, else kube-system.
	Namespace string `json:"namespace"`
}

// request is what the args of a plugin configure.
type request struct {
	SideConfig
	// text is the content of the given policy.
	text string
}

// read turns the args of a plugin into a policy.
func read(name string, object runtime.Object) (request, error) {
	if name == EvenkeelLoad {
		return readEvenkeelLoad(object)
	}
	asked, err := compat.ReadPlugin(name, func(into any) error { return decode(object, into) })
	// Legacy plugins do not use the ledger: their users have granted no access
	// to it, and none of them evicts.
	return request{SideConfig{PolicyFile: asked.File, Given: asked.Given}, asked.Text}, err
}

func readEvenkeelLoad(object runtime.Object) (request, error) {
	var args EvenkeelLoadArgs
	if err := decode(object, &args); err != nil {
		return request{}, err
	}
	namespace := cmp.Or(args.Namespace, os.Getenv("POD_NAMESPACE"))
	return request{SideConfig: SideConfig{PolicyFile: args.PolicyConfigFile, Namespace: namespace, Follow: true}}, nil
}

// maxArgsBytes bounds the args.
const maxArgsBytes = 64 << 10

// decode reads args strictly: each field once, with its exact name and type. It
// allows apiVersion and kind, which kube-scheduler has checked.
func decode(object runtime.Object, into any) error {
	if object == nil {
		return nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return fmt.Errorf("args have type %T of another plugin", object)
	}
	raw := bytes.TrimSpace(unknown.Raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if len(raw) > maxArgsBytes {
		return fmt.Errorf("args have %d bytes; at most %d are allowed", len(raw), maxArgsBytes)
	}
	text, err := yaml.YAMLToJSONStrict(raw) // rejects duplicate fields
	if err != nil {
		return fmt.Errorf("args: %s", oneLine(err))
	}
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return errors.New("args must be a mapping")
	}
	delete(given, "apiVersion")
	delete(given, "kind")
	if err := shape.Decode(given, into).ToAggregate(); err != nil {
		return fmt.Errorf("args: %s", oneLine(err))
	}
	return nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
