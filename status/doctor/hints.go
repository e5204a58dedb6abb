package doctor

import (
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// fixSource explains how to fix a source that gave no reading.
func fixSource(s *policy.Source, err error) string {
	text, d := strings.ToLower(err.Error()), s.Config.Describe()
	own := d.Hints
	if own == nil {
		own = hints
	}
	for _, hint := range own {
		for _, part := range hint.Texts {
			if strings.Contains(text, part) {
				return textOf(&d, hint)
			}
		}
	}
	return "See the error, then run doctor again."
}

// textOf returns the text of a hint for a source.
func textOf(d *source.Description, hint source.Hint) string {
	advice := d.Advice[hint.Topic]
	switch {
	case hint.Topic == source.Forbidden && advice == "":
		advice = "The server knows the caller but denies access. " + d.Advice[source.Unauthorized] +
			"\nWith several tenants, also name the tenant:\n" + source.Snippet(d.Name, "headers: {X-Scope-OrgID: tenant}")
	case hint.Topic == source.NotFound && advice == "":
		advice = "It does not serve this request: check its version."
	}
	text := hint.Advice + advice
	text = strings.ReplaceAll(text, "BESIDE ", outer(d.Name, ""))
	text = strings.ReplaceAll(text, "WITHIN tls:", source.Snippet(d.Name, https(d)+"tls:"))
	return strings.ReplaceAll(text, "WITHIN ", source.Snippet(d.Name, ""))
}

// https returns the setting that enables TLS if http is the default.
func https(d *source.Description) string {
	if d.Plain {
		return "scheme: https\n        "
	}
	return ""
}

// hints apply to sources over HTTP. The first hint whose text is part of the error
// applies, so more specific texts come first. The placeholders BESIDE and WITHIN are
// replaced with a line for the policy: BESIDE with a line next to a source's settings,
// WITHIN with a line within them.
var hints = []source.Hint{
	{
		Texts:  []string{"--send-credentials"},
		Advice: "Check the address and the credential that the policy names. If you trust both, run doctor again with --send-credentials.",
	},
	{
		Texts:  []string{"unknown authority", "self-signed", "self signed"},
		Advice: "No trusted authority has signed its certificate. Name the one that has:\nWITHIN tls: {caFile: /path/to/ca.crt}",
	},
	{
		Texts: []string{"certificate is valid for", "cannot validate certificate", "doesn't contain any ip sans"},
		Advice: "Its certificate is for another name. Use that name as the address, or set the name to expect:\n" +
			"WITHIN tls: {serverName: name-on-the-certificate}",
	},
	{
		Texts:  []string{"certificate has expired"},
		Advice: "Its certificate has expired, or the clock of this machine is wrong: renew it.",
	},
	{
		Texts:  []string{"certificate required", "bad certificate"},
		Advice: "It requires a client certificate:\nWITHIN tls: {certFile: /path/to/tls.crt, keyFile: /path/to/tls.key}",
	},
	{
		Texts:  []string{"server gave http response to https"},
		Advice: "It speaks http, not https: correct the scheme.",
	},
	{
		Texts:  []string{"http request to an https server", "malformed http response"},
		Advice: "It speaks https, not http: correct the scheme.",
	},
	{
		Texts: []string{"answer is too large", "answer is longer"},
		Advice: "The answer exceeds the size limit. Narrow the expressions down to this cluster's nodes and pods (usage.sources[].prometheus.queries),\n" +
			"or aggregate away labels with: sum by (...) or max by (...).",
	},
	{
		Texts:  []string{"no such host", "server misbehaving"},
		Advice: "The name in its address cannot be resolved here. Inside a cluster, write <service>.<namespace>.svc, and check whether the Service exists.",
	},
	{
		Texts:  []string{"connection refused"},
		Advice: "Nothing listens at its address and port, or it is down.", Topic: source.Refused,
	},
	{
		Texts:  []string{"no route to host", "network is unreachable", "i/o timeout"},
		Advice: "Its address cannot be reached from here: check NetworkPolicies and firewalls.",
	},
	{
		Texts:  []string{"requesting a token of serviceaccount"},
		Advice: "The API server issues no token for it. ", Topic: source.Ungranted,
	},
	{
		Texts:  []string{"401", "unauthorized"},
		Advice: "The server does not recognize the caller. ", Topic: source.Unauthorized,
	},
	{Texts: []string{"403", "forbidden"}, Topic: source.Forbidden},
	{Texts: []string{"404"}, Topic: source.NotFound},
	{
		Texts: []string{"is this the prometheus api", "where an object should be"},
		Advice: "Something else answers at this address. Use the address above /api/v1/query; Mimir and VictoriaMetrics have a path\n" +
			"in front of it (such as /prometheus or /select/0/prometheus).",
	},
	{
		Texts:  []string{"redirection"},
		Advice: "It redirects, which is not followed because that would send the token to another server: use the target's address directly.",
	},
	{
		Texts:  []string{"context deadline exceeded", "no answer", "timeout", "timed out"},
		Advice: "It is too slow or down. Allow more time, or query less:\nBESIDE timeout: 30s",
	},
	{
		Texts:  []string{"reading secret", "reading the token"},
		Advice: "See permissions for whether the Secret is readable, and check whether it has that key.",
	},
	{
		Texts:  []string{"no such file"},
		Advice: "A file that the policy names does not exist: check whether it is mounted.",
	},
	{
		Texts:  []string{" 500", " 502", " 503", " 504"},
		Advice: "The server, or a proxy in front of it, failed: see its log.",
	},
	{
		Texts:  []string{"cut off", "unexpected eof"},
		Advice: "The answer was cut off: check the server's log and any proxies in between.",
	},
}

// outer returns a line to be placed next to the settings of a source.
func outer(name, line string) string {
	return "usage:\n  sources:\n    - type: " + name + "\n      " + line
}
