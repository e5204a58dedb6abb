package plugin

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

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// EvenkeelLoad is the name of the plugin that uses an Evenkeel policy file.
const EvenkeelLoad = policy.EvenkeelLoadName

// Policy is the policy to which a legacy plugin's args are equivalent.
type Policy struct {
	// File is the path of the policy. Given, if set, is a policy without a file, and Text
	// is its text.
	File  string
	Given *policy.File
	Text  string
}

// ReadLegacy reads the args of a legacy plugin, without apiVersion and kind.
type ReadLegacy func(name string, args map[string]any) (Policy, error)

// request is the configuration in a plugin's args.
type request struct {
	SideConfig
	// text is the content of the given policy.
	text string
}

// read converts the args of a plugin into a policy.
func (s *Sides) read(name string, object runtime.Object) (request, error) {
	given, err := argsOf(object)
	if err != nil {
		return request{}, err
	}
	if name == EvenkeelLoad {
		return readEvenkeelLoad(given)
	}
	asked, err := s.legacy(name, given)
	if err != nil {
		return request{}, fmt.Errorf("args: %s", oneLine(err))
	}
	// Legacy plugins do not use the ledger, because their users have not granted access
	// to it and none of these plugins evicts.
	return request{SideConfig{PolicyFile: asked.File, Given: asked.Given}, asked.Text}, nil
}

func readEvenkeelLoad(given map[string]any) (request, error) {
	var args policy.EvenkeelLoadArgs
	if err := shape.Decode(given, &args).ToAggregate(); err != nil {
		return request{}, fmt.Errorf("args: %s", oneLine(err))
	}
	namespace := cmp.Or(args.Namespace, os.Getenv("POD_NAMESPACE"))
	return request{SideConfig: SideConfig{PolicyFile: args.PolicyConfigFile, Namespace: namespace, Follow: true}}, nil
}

// maxArgsBytes bounds the args.
const maxArgsBytes = 64 << 10

// argsOf parses args, in which each field may occur only once. It leaves out
// apiVersion and kind, which kube-scheduler does not read for plugins like this
// one.
func argsOf(object runtime.Object) (map[string]any, error) {
	if object == nil {
		return nil, nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return nil, fmt.Errorf("args have type %T of another plugin", object)
	}
	raw := bytes.TrimSpace(unknown.Raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if len(raw) > maxArgsBytes {
		return nil, fmt.Errorf("args have %d bytes; at most %d are allowed", len(raw), maxArgsBytes)
	}
	text, err := yaml.YAMLToJSONStrict(raw) // rejects duplicate fields
	if err != nil {
		return nil, fmt.Errorf("args: %s", oneLine(err))
	}
	var given map[string]any
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, errors.New("args must be a mapping")
	}
	delete(given, "apiVersion")
	delete(given, "kind")
	return given, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
