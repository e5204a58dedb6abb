package doctor

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// The verbs that Evenkeel serves, and the values of the shipped configuration.
const (
	filterVerb     = "filter"
	prioritizeVerb = "prioritize"
	shippedWeight  = 15
	shippedTimeout = "200ms"
	mostTimeout    = time.Second
	// With a weight below lightest, Evenkeel's scores hardly count: one of its points is
	// worth 10 times the weight, whereas the default plugins together award up to 1200 to
	// 1400. With a weight above heaviest, no other score counts.
	lightest, heaviest = 5, 50
)

// fixedWeight is the line that corrects a weight that is out of range.
var fixedWeight = fmt.Sprintf("weight: %d", shippedWeight)

// mistake is a possible mistake in the entry.
type mistake struct {
	made    bool
	level   Level
	summary string
	remedy  string
}

// mistakesOfUse returns mistakes in the entry's verbs and their settings.
func mistakesOfUse(e *schedulerv1.Extender) []mistake {
	const timeout = "httpTimeout: " + shippedTimeout
	return []mistake{
		{e.FilterVerb != filterVerb, Problem, "filterVerb is not filter: hot nodes keep getting pods, and replacements do not go where they were " +
			"planned to go, because destinations are booked at filter.", "filterVerb: filter"},
		{e.PrioritizeVerb != prioritizeVerb, Problem, "prioritizeVerb is not prioritize: pods are kept off hot nodes, but do not go to the coolest.",
			"prioritizeVerb: prioritize"},
		{!e.NodeCacheCapable, Problem, "nodeCacheCapable is not true: whole nodes are sent with each pod, which slows scheduling down to a few pods per " +
			"second, and kube-scheduler's own scores then see nodes without pods.", "nodeCacheCapable: true"},
		{!e.Ignorable, Problem, "ignorable is not true: while Evenkeel is unavailable, no pod is scheduled.", "ignorable: true"},
		{e.HTTPTimeout.Duration <= 0, Problem, "httpTimeout is not set, so it is 5s: an extender that hangs costs each pod ten seconds.", timeout},
		{e.HTTPTimeout.Duration > mostTimeout, Problem, "httpTimeout is above 1s: an extender that hangs costs each pod twice as much.", timeout},
		{e.PrioritizeVerb != "" && e.Weight <= 0, Problem, "weight is not above 0, so kube-scheduler does not start.", fixedWeight},
		{e.Weight > 0 && e.Weight < lightest, Warning, "weight is low: the whole range of Evenkeel's scores is worth 100 times the weight, that of the " +
			"default plugins up to 1400 points.", fixedWeight},
		{e.Weight > heaviest, Warning, "weight is high: real usage overrules spreading and affinity wherever nodes differ at all.", fixedWeight},
		{e.PreemptVerb != "", Problem, "preemptVerb is set: Evenkeel does not implement it, so preemption fails.", "Remove preemptVerb."},
		{e.BindVerb != "", Problem, "bindVerb is set: Evenkeel does not implement it, so no pod is bound.", "Remove bindVerb."},
		{len(e.ManagedResources) > 0, Problem, "managedResources is set: kube-scheduler asks only about pods that request these resources.",
			"Remove managedResources."},
	}
}

// mistakesOfReach returns mistakes in the connection to the extender.
func mistakesOfReach(e *schedulerv1.Extender) []mistake {
	tls := cmp.Or(e.TLSConfig, &schedulerv1.ExtenderTLSConfig{})
	hasCA, hasCert := tls.CAFile != "" || len(tls.CAData) > 0, tls.CertFile != "" || len(tls.CertData) > 0
	secure := strings.HasPrefix(e.URLPrefix, "https://")
	return []mistake{
		{strings.HasPrefix(e.URLPrefix, "http://") && !isLoopback(e.URLPrefix), Warning, "urlPrefix uses plain HTTP: anyone who can reach the extender can send requests like " +
			"kube-scheduler's, and anyone on the network path can answer.", "Move to mutual TLS (docs/steering.md):\n" + Block("")},
		{e.EnableHTTPS && !hasCA, Warning, "enableHTTPS without an authority: kube-scheduler then accepts any certificate.",
			"tlsConfig: {caFile: /path/to/ca.crt}"},
		{secure && !hasCert, Warning, "tlsConfig has no client certificate: as shipped, Evenkeel answers only clients that have one.",
			"tlsConfig: {certFile: /path/to/client.crt, keyFile: /path/to/client.key}"},
		{tls.Insecure && hasCA, Problem, "tlsConfig has both an authority and insecure: kube-scheduler does not start with both.",
			"Remove insecure from tlsConfig."},
		{tls.Insecure && !hasCA && !e.EnableHTTPS, Warning, "tlsConfig.insecure accepts any certificate.", "tlsConfig: {caFile: /path/to/ca.crt}"},
		{e.EnableHTTPS && strings.HasPrefix(e.URLPrefix, "http://"), Problem, "enableHTTPS is true, but urlPrefix begins with http://, so plain HTTP is used.",
			"urlPrefix: https://..."},
		{!isURL(e.URLPrefix), Problem, "urlPrefix is not a URL that begins with http:// or https:// and names a host.",
			"urlPrefix: https://<ClusterIP of the Service>:8443"},
		{isServiceName(e.URLPrefix), Warning, "urlPrefix has a Service's name, which kube-scheduler cannot resolve if it runs in the host's network.",
			"kubectl -n evenkeel get service evenkeel   # and write its ClusterIP"},
	}
}

// examineEntry finds mistakes in the entry for Evenkeel.
func examineEntry(n *notes, config *schedulerv1.KubeSchedulerConfiguration, i int) {
	entry, name := &config.Extenders[i], entryName(i)
	for _, m := range append(mistakesOfUse(entry), mistakesOfReach(entry)...) {
		if m.made {
			n.add(m.level, name, "%s", m.summary).fix(m.remedy)
		}
	}
	if behind := after(config, i); len(behind) > 0 {
		n.problem(name, "%s asked after it and may reject the node that was booked for a pod: Evenkeel must be last.", areAsked(behind)).
			fix("Move the entry to the end of extenders. kube-scheduler asks ignorable extenders after all others.")
	}
}

// after returns, in the order in which they are called, the extenders that filter after
// the given one. Ignorable extenders come last.
func after(config *schedulerv1.KubeSchedulerConfiguration, ours int) []string {
	var behind []string
	for i := range config.Extenders {
		e := &config.Extenders[i]
		later := i > ours
		if e.Ignorable != config.Extenders[ours].Ignorable {
			later = e.Ignorable
		}
		if i != ours && later && e.FilterVerb != "" {
			behind = append(behind, entryName(i))
		}
	}
	return behind
}

func areAsked(entries []string) string {
	if len(entries) == 1 {
		return entries[0] + " is"
	}
	return list(entries) + " are"
}

func isURL(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
}

func isServiceName(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	return strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc.")
}

func entryName(i int) string { return fmt.Sprintf("extenders[%d]", i) }

// isLoopback reports whether a URL does not leave the host.
func isLoopback(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && extender.Loopback(net.JoinHostPort(parsed.Hostname(), "0"))
}

// Block returns the entry that kube-scheduler's configuration needs for an extender at an https URL. For any other URL
// it uses an example.
func Block(url string) string {
	if !strings.HasPrefix(url, "https://") {
		url = "https://10.96.0.50:8443"
	}
	return fmt.Sprintf("extenders:\n  - urlPrefix: %s   # as kube-scheduler reaches it: a ClusterIP, not a Service's name\n"+
		"    filterVerb: filter\n    prioritizeVerb: prioritize\n    weight: %d\n    nodeCacheCapable: true\n    ignorable: true\n    httpTimeout: %s\n"+
		"    enableHTTPS: true\n    tlsConfig:   # files of `evenkeel certificates`\n      serverName: evenkeel.evenkeel.svc   # a name on the extender's certificate\n"+
		"      caFile: /etc/kubernetes/evenkeel/ca.crt\n      certFile: /etc/kubernetes/evenkeel/client.crt\n      keyFile: /etc/kubernetes/evenkeel/client.key",
		url, shippedWeight, shippedTimeout)
}
