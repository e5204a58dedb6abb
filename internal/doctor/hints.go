package doctor

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
)

// hint is what to do about errors that have one of these texts. The first that matches is taken: the nearer a text is to
// the cause, the further up it stands.
type hint struct {
	texts []string
	mend  func(*policy.Source) string
}

// mendSource says what to do about a source that gave no reading.
func mendSource(source *policy.Source, err error) string {
	text := strings.ToLower(err.Error())
	own := hints
	if source.Type == policy.SourceMetricsServer {
		own = metricsServerHints
	}
	for _, h := range own {
		for _, part := range h.texts {
			if strings.Contains(text, part) {
				return h.mend(source)
			}
		}
	}
	return "See the error; `evenkeel doctor` asks again each time."
}

// hints are for sources that are spoken to directly.
var hints = []hint{
	{[]string{"unknown authority", "self-signed", "self signed"}, func(s *policy.Source) string {
		return "Nobody that is trusted vouches for its certificate. Name the authority that does:\n" + snippet(s, "tls: {caFile: /path/to/ca.crt}")
	}},
	{[]string{"certificate is valid for", "cannot validate certificate", "doesn't contain any ip sans"}, func(s *policy.Source) string {
		return "Its certificate is for another name. Use that name as the address, or say which one to expect:\n" +
			snippet(s, "tls: {serverName: name-on-the-certificate}")
	}},
	{[]string{"certificate has expired"}, fixed("Its certificate has expired, or the clock of this machine is wrong: renew it.")},
	{[]string{"certificate required", "bad certificate"}, func(s *policy.Source) string {
		return "It wants a client certificate:\n" + snippet(s, "tls: {certFile: /path/to/tls.crt, keyFile: /path/to/tls.key}")
	}},
	{[]string{"server gave http response to https"}, fixed("It speaks http, not https: correct the scheme.")},
	{[]string{"http request to an https server", "malformed http response"}, fixed("It speaks https, not http: correct the scheme.")},
	{[]string{"answer is too large", "answer is longer"}, fixed(
		"The answer is beyond what is read. Narrow the expressions down to this cluster's nodes and pods (usage.sources[].prometheus.queries),\n" +
			"or aggregate away labels with: sum by (...) or max by (...).")},
	{[]string{"no such host", "server misbehaving"}, fixed(
		"The name in its address is not known here. Inside a cluster write <service>.<namespace>.svc, and see whether the Service exists.")},
	{[]string{"connection refused"}, func(s *policy.Source) string {
		return "Nothing listens at its address and port, or it is down." + whereIs(s)
	}},
	{[]string{"no route to host", "network is unreachable", "i/o timeout"}, fixed(
		"Its address cannot be reached from here: look at NetworkPolicies and firewalls.")},
	{[]string{"401", "unauthorized"}, func(s *policy.Source) string { return "It does not know who is asking. " + credentials(s) }},
	{[]string{"403", "forbidden"}, forbidden},
	{[]string{"404"}, missingPath},
	{[]string{"is this the prometheus api", "where an object is due"}, fixed(
		"Something else answers at this address. It must be the one below which /api/v1/query lies; Mimir and VictoriaMetrics have a path\n" +
			"in front of it (such as /prometheus or /select/0/prometheus).")},
	{[]string{"redirection"}, fixed("It sends elsewhere, which is not followed because a token would go along: use the address it points to, with a token.")},
	{[]string{"context deadline exceeded", "no answer", "timeout", "timed out"}, func(s *policy.Source) string {
		return "It is too slow or not there at all. Allow it more time, or ask it for less:\n" + outer(s, "timeout: 30s")
	}},
	{[]string{"reading secret", "reading the token"}, fixed("See under permissions whether the Secret may be read, and whether it has that key.")},
	{[]string{"no such file"}, fixed("A file that the policy names is not there: see whether it is mounted.")},
	{[]string{" 500", " 502", " 503", " 504"}, fixed("The server, or a proxy in front of it, is in trouble: see its log.")},
	{[]string{"breaks off", "unexpected eof", "broke off"}, fixed("The answer broke off on the way: look at the server's log and at proxies in between.")},
}

// metricsServerHints are for the API server's answers about metrics.k8s.io.
var metricsServerHints = []hint{
	{[]string{"could not find the requested resource", "404", "not found"}, fixed(
		"The API metrics.k8s.io does not exist: install metrics-server, or take MetricsServer out of usage.sources.")},
	{[]string{"currently unable to handle", "503", "serviceunavailable", "no endpoints"}, fixed(
		"metrics-server does not answer the API server:\nkubectl get apiservice v1beta1.metrics.k8s.io -o yaml\nkubectl -n kube-system logs deployment/metrics-server")},
	{[]string{"forbidden", "unauthorized"}, fixed("It may not list nodes and pods of metrics.k8s.io: see under permissions.")},
	{[]string{"context deadline exceeded", "timeout"}, func(s *policy.Source) string {
		return "It is too slow. Allow it more time:\n" + outer(s, "timeout: 30s")
	}},
}

func fixed(mend string) func(*policy.Source) string {
	return func(*policy.Source) string { return mend }
}

// snippet is a line inside a source's own part of the policy, outer one beside it.
func snippet(s *policy.Source, line string) string {
	return fmt.Sprintf("usage:\n  sources:\n    - type: %s\n      %s:\n        %s", s.Type, field(s), line)
}

func outer(s *policy.Source, line string) string {
	return fmt.Sprintf("usage:\n  sources:\n    - type: %s\n      %s", s.Type, line)
}

func whereIs(s *policy.Source) string {
	switch s.Type {
	case policy.SourcePrometheus:
		return " The port is part of prometheus.address; Prometheus itself listens at 9090."
	case policy.SourceKubelet:
		return " Kubelets listen at the port that each node states, usually 10250."
	case policy.SourceNodeMetrics:
		return " The exporter listens at 19101 on each node: kubectl get daemonsets -A"
	default:
		return ""
	}
}

func credentials(s *policy.Source) string {
	switch s.Type {
	case policy.SourcePrometheus:
		return "Give it a token or a password:\n" + snippet(s, "bearerTokenSecret: {namespace: ..., name: ..., key: token}   # or bearerTokenFile, or basicAuth")
	case policy.SourceKubelet:
		return "Kubelets must have webhook authentication (--authentication-token-webhook), or be shown a client certificate (kubelet.tls)."
	case policy.SourceNodeMetrics:
		return "Give it a token:\n" + snippet(s, "bearerTokenFile: /path/to/token")
	default:
		return ""
	}
}

func forbidden(s *policy.Source) string {
	if s.Type == policy.SourceKubelet {
		return "Kubelets ask the API server whether it may get nodes/stats and nodes/metrics: see under permissions."
	}
	return "It knows who is asking and does not allow it. " + credentials(s) + "\nWith several tenants say which one, too:\n" +
		snippet(s, "headers: {X-Scope-OrgID: tenant}")
}

func missingPath(s *policy.Source) string {
	switch s.Type {
	case policy.SourcePrometheus:
		return "The API is not below this address. Some servers have a path in front of it:\n" +
			snippet(s, "address: http://host:port/prometheus   # Mimir; VictoriaMetrics cluster: /select/0/prometheus")
	case policy.SourceNodeMetrics:
		return "The exporter serves usage below another path:\n" + snippet(s, "path: /statistics")
	default:
		return "It does not serve what is asked for: see the version of the kubelets, and kubelet.endpoint."
	}
}
