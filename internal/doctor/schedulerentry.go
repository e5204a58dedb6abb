package doctor

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// What Evenkeel serves, and what the shipped configuration has.
const (
	filterVerb     = "filter"
	prioritizeVerb = "prioritize"
	shippedWeight  = 15
	shippedTimeout = "200ms"
	mostTimeout    = time.Second
	// Below lightest, a point of Evenkeel's (10 times the weight) is drowned by
	// the default plugins, whose weights sum up to 12 to 14 times 100; above
	// heaviest nothing else counts.
	lightest, heaviest = 5, 50
)

// mistake is one thing that can be wrong with the entry.
type mistake struct {
	made  func(*schedulerv1.Extender) bool
	level Level
	says  string
	mend  string
}

// mistakes are looked for one by one.
var mistakes = []mistake{
	{
		func(e *schedulerv1.Extender) bool { return e.FilterVerb != filterVerb }, Problem,
		"filterVerb is not filter: hot nodes keep getting pods, and a replacement is not sent where it was planned to go, because landings are booked at filter.",
		"filterVerb: filter",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.PrioritizeVerb != prioritizeVerb }, Problem,
		"prioritizeVerb is not prioritize: pods are kept off hot nodes, but do not go to the coolest.", "prioritizeVerb: prioritize",
	},
	{
		func(e *schedulerv1.Extender) bool { return !e.NodeCacheCapable }, Problem,
		"nodeCacheCapable is not true: whole nodes are sent with each pod, which takes scheduling down to a few pods a second, and kube-scheduler's own scores then see nodes without pods.",
		"nodeCacheCapable: true",
	},
	{
		func(e *schedulerv1.Extender) bool { return !e.Ignorable }, Problem,
		"ignorable is not true: while Evenkeel is away, no pod is scheduled.", "ignorable: true",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.HTTPTimeout.Duration <= 0 }, Problem,
		"httpTimeout is not set and so is 5s: an extender that hangs costs each pod ten seconds.", "httpTimeout: " + shippedTimeout,
	},
	{
		func(e *schedulerv1.Extender) bool { return e.HTTPTimeout.Duration > mostTimeout }, Problem,
		"httpTimeout is above 1s: an extender that hangs costs each pod twice as much.", "httpTimeout: " + shippedTimeout,
	},
	{
		func(e *schedulerv1.Extender) bool { return e.PrioritizeVerb != "" && e.Weight <= 0 }, Problem,
		"weight is not above 0: kube-scheduler does not start with it.", fmt.Sprintf("weight: %d", shippedWeight),
	},
	{
		func(e *schedulerv1.Extender) bool { return e.Weight > 0 && e.Weight < lightest }, Warning,
		"weight is low: the whole range of Evenkeel's scores is worth 100 times the weight, that of the default plugins up to 1400 points.",
		fmt.Sprintf("weight: %d", shippedWeight),
	},
	{
		func(e *schedulerv1.Extender) bool { return e.Weight > heaviest }, Warning,
		"weight is high: real usage overrules spreading and affinity wherever nodes differ at all.", fmt.Sprintf("weight: %d", shippedWeight),
	},
	{
		func(e *schedulerv1.Extender) bool { return e.PreemptVerb != "" }, Problem,
		"preemptVerb is set: Evenkeel does not serve it, so that preemption goes wrong.", "Take preemptVerb out.",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.BindVerb != "" }, Problem,
		"bindVerb is set: Evenkeel does not bind, so that no pod would be.", "Take bindVerb out.",
	},
	{
		func(e *schedulerv1.Extender) bool { return len(e.ManagedResources) > 0 }, Problem,
		"managedResources is set: kube-scheduler asks about pods only that request these resources.", "Take managedResources out.",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.EnableHTTPS && !hasCA(e) }, Warning,
		"enableHTTPS without an authority: kube-scheduler then takes any certificate.", "tlsConfig: {caFile: /path/to/ca.crt}",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.TLSConfig != nil && e.TLSConfig.Insecure && hasCA(e) }, Problem,
		"tlsConfig has an authority and insecure as well: kube-scheduler does not start with both.", "Take insecure out of tlsConfig.",
	},
	{
		func(e *schedulerv1.Extender) bool {
			return e.TLSConfig != nil && e.TLSConfig.Insecure && !hasCA(e) && !e.EnableHTTPS
		}, Warning,
		"tlsConfig.insecure takes any certificate.", "tlsConfig: {caFile: /path/to/ca.crt}",
	},
	{
		func(e *schedulerv1.Extender) bool { return e.EnableHTTPS && strings.HasPrefix(e.URLPrefix, "http://") }, Problem,
		"enableHTTPS is true, but urlPrefix begins with http://, which is what is spoken.", "urlPrefix: https://...",
	},
	{
		func(e *schedulerv1.Extender) bool { return !isURL(e.URLPrefix) }, Problem,
		"urlPrefix is not a URL that begins with http:// or https:// and names a host.", "urlPrefix: http://<ClusterIP of the Service>:8888",
	},
	{
		func(e *schedulerv1.Extender) bool { return isServiceName(e.URLPrefix) }, Warning,
		"urlPrefix has a Service's name, which kube-scheduler cannot resolve where it runs in the host's network.",
		"kubectl -n evenkeel get service evenkeel   # and write its ClusterIP",
	},
}

// examineEntry finds what is wrong with the entry for Evenkeel.
func examineEntry(config *schedulerv1.KubeSchedulerConfiguration, i int) []Finding {
	entry := &config.Extenders[i]
	var findings []Finding
	for k := range mistakes {
		m := &mistakes[k]
		if !m.made(entry) {
			continue
		}
		findings = append(findings, Finding{Level: m.level, Subject: entryName(i), Says: m.says, Mend: m.mend})
	}
	if behind := after(config, i); len(behind) > 0 {
		findings = append(findings, Finding{
			Level: Problem, Subject: entryName(i),
			Says: fmt.Sprintf("%s asked after it and may refuse the node that was booked for a pod: Evenkeel has to be the last one.", areAsked(behind)),
			Mend: "Move the entry to the end of extenders. kube-scheduler asks those that are ignorable after all others.",
		})
	}
	return findings
}

// after returns the extenders that filter after the given one: in their order,
// those that are ignorable last.
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

func hasCA(e *schedulerv1.Extender) bool {
	return e.TLSConfig != nil && (e.TLSConfig.CAFile != "" || len(e.TLSConfig.CAData) > 0)
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

// Block is the entry that kube-scheduler's configuration needs for an extender.
func Block(url string) string {
	if url == "" {
		url = "http://127.0.0.1:8888"
	}
	block := fmt.Sprintf("extenders:\n  - urlPrefix: %s   # as kube-scheduler reaches it: a ClusterIP, not a Service's name\n"+
		"    filterVerb: filter\n    prioritizeVerb: prioritize\n    weight: %d\n    nodeCacheCapable: true\n    ignorable: true\n    httpTimeout: %s",
		url, shippedWeight, shippedTimeout)
	if strings.HasPrefix(url, "https://") {
		block += "\n    enableHTTPS: true\n    tlsConfig: {caFile: /path/to/ca.crt}"
	}
	return block
}
