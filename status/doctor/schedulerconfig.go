package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/reasons"
)

// MaxSchedulerConfigBytes is the maximum size of the file. Such files have a few kilobytes.
const MaxSchedulerConfigBytes = 256 << 10

const (
	schedulerConfigKind   = "KubeSchedulerConfiguration"
	schedulerConfigPrefix = "kubescheduler.config.k8s.io/"
)

// readSchedulerConfig decodes strictly, because kube-scheduler does not start with an
// unknown or repeated field.
func readSchedulerConfig(data []byte) (*schedulerv1.KubeSchedulerConfiguration, error) {
	switch {
	case len(data) > MaxSchedulerConfigBytes:
		return nil, fmt.Errorf("it has more than %d bytes", MaxSchedulerConfigBytes)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8 text")
	case documents(data) > 1:
		return nil, errors.New("it has more than one document, of which only the first would be read")
	}
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(data, &kind); err != nil {
		return nil, fmt.Errorf("reading YAML: %w", err)
	}
	switch {
	case kind.Kind == "" && kind.APIVersion == "":
		return nil, errors.New("it has no apiVersion and no kind")
	case kind.Kind != schedulerConfigKind || !strings.HasPrefix(kind.APIVersion, schedulerConfigPrefix):
		return nil, fmt.Errorf("it is a %q of %q", kind.Kind, kind.APIVersion)
	case kind.APIVersion != schedulerv1.SchemeGroupVersion.String():
		return nil, fmt.Errorf("%s was removed in Kubernetes 1.29", kind.APIVersion)
	}
	return decodeSchedulerConfig(data)
}

// decodeSchedulerConfig decodes with kube-scheduler's own code, which is case-sensitive. It does not check plugins'
// arguments.
func decodeSchedulerConfig(data []byte) (*schedulerv1.KubeSchedulerConfiguration, error) {
	scheme := runtime.NewScheme()
	if err := schedulerv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("preparing to read it: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("reading it strictly: %w", err)
	}
	config, ok := object.(*schedulerv1.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("it is a %T", object)
	}
	return config, nil
}

// documents counts the YAML documents that are not empty.
func documents(data []byte) int {
	n, open := 0, false
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("---")):
			open = false
		case len(text) == 0 || text[0] == '#' || open:
		default:
			n, open = n+1, true
		}
	}
	return n
}

// entriesOf finds the entries for Evenkeel and examines them.
func entriesOf(n *notes, config *schedulerv1.KubeSchedulerConfiguration, p *Installation) {
	ours, exact := entries(config, p.Extender.URL)
	if len(ours) == 0 {
		n.problem("", "None of its %s is for Evenkeel, so kube-scheduler does not ask Evenkeel.", reasons.Count(len(config.Extenders), "extender")).
			fix(Block(p.Extender.URL))
		return
	}
	if !exact {
		n.warning(entryName(ours[0]), "urlPrefix is %q, and --extender-url is %q: check that both lead to Evenkeel.",
			safeURL(config.Extenders[ours[0]].URLPrefix), safeURL(p.Extender.URL)).
			fix("Correct urlPrefix if they do not.")
	}
	if len(ours) > 1 {
		n.warning(entryName(ours[1]), "%d entries lead to Evenkeel: each costs every pod two requests.", len(ours)).fix("Keep one of them.")
	}
	examineEntry(n, config, ours[0])
}

// entries returns the indices of the entries for Evenkeel: those with the given address,
// or else those with its verbs. exact is false if no entry has the given address. A
// loopback address does not count as given, because it belongs to a port-forward.
func entries(config *schedulerv1.KubeSchedulerConfiguration, address string) (ours []int, exact bool) {
	var alike []int
	for i := range config.Extenders {
		e := &config.Extenders[i]
		if address != "" && sameHost(e.URLPrefix, address) {
			ours = append(ours, i)
		}
		if e.FilterVerb == filterVerb || e.PrioritizeVerb == prioritizeVerb {
			alike = append(alike, i)
		}
	}
	if len(ours) > 0 {
		return ours, true
	}
	if len(alike) > 1 {
		alike = alike[len(alike)-1:] // many extenders use these verbs; Evenkeel should be the last one
	}
	return alike, address == "" || isLoopback(address)
}

func sameHost(a, b string) bool {
	left, err := url.Parse(a)
	right, other := url.Parse(b)
	return err == nil && other == nil && left.Host != "" && strings.EqualFold(left.Host, right.Host)
}

// safeURL returns a URL without a possible password.
func safeURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	return parsed.Redacted()
}

// steeredProfiles finds schedulers that should be steered according to the policy but are
// missing from this configuration. If steering uses only plugins, it also finds
// schedulers without the plugin.
func steeredProfiles(n *notes, config *schedulerv1.KubeSchedulerConfiguration, p *Installation, inside []plugged) {
	has := []string{v1.DefaultSchedulerName}
	if len(config.Profiles) > 0 {
		has = nil
	}
	for i := range config.Profiles {
		has = append(has, schedulerName(&config.Profiles[i]))
	}
	if ours, _ := entries(config, p.Extender.URL); len(inside) > 0 && len(ours) == 0 {
		outsideProfiles(n, has, inside, p)
	}
	for _, name := range p.Load.Eviction.SchedulerNames {
		if !slices.Contains(has, name) {
			n.warning("profiles", "The policy moves pods of the scheduler %q, but this configuration has only %s: "+
				"unless another configuration asks Evenkeel, their destinations are left to chance.", name, list(has)).
				fix("Give the other scheduler the same extenders block, or remove it from eviction.schedulerNames.")
		}
	}
}

// outsideProfiles finds schedulers in the configuration that should be steered according
// to the policy but have no plugin.
func outsideProfiles(n *notes, has []string, inside []plugged, p *Installation) {
	for _, name := range has {
		plugs := slices.ContainsFunc(inside, func(profile plugged) bool { return profile.scheduler == name })
		if !plugs && slices.Contains(p.Load.Eviction.SchedulerNames, name) {
			n.warning("profiles", "The policy moves pods of the scheduler %q, whose profile has no plugin of Evenkeel's: their destinations are left to chance.", name).
				fix("Enable the plugin there, too, or remove the scheduler from eviction.schedulerNames.")
		}
	}
}

// plugged is a profile of kube-scheduler that runs Evenkeel as a plugin.
type plugged struct {
	place     int
	scheduler string
	// plugins lists the names of the enabled plugins.
	plugins []string
	profile *schedulerv1.KubeSchedulerProfile
}

func schedulerName(profile *schedulerv1.KubeSchedulerProfile) string {
	return ptr.Deref(profile.SchedulerName, v1.DefaultSchedulerName)
}
