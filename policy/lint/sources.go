package lint

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
)

// sources finds sources that anybody between could answer for, or that are not
// told where to ask.
func sources(s *Subject) []Finding {
	var findings []Finding
	for i := range s.load.Usage.Sources {
		source := &s.load.Usage.Sources[i]
		path := fmt.Sprintf("usage.sources[%d]", i)
		if tls := source.TLS(); tls != nil && tls.InsecureSkipVerify {
			findings = append(findings, warn(path, "the certificate of %s is not checked (insecureSkipVerify): anybody between could make up usage, and is sent the token", source.Type)...)
		}
		if source.Prometheus != nil {
			findings = append(findings, s.prometheus(source.Prometheus, path+".prometheus")...)
		}
	}
	return findings
}

func (s *Subject) prometheus(p *policy.PrometheusSource, path string) []Finding {
	switch {
	case p.Address == "" && !hasProvider(s.Profiles):
		return note(path+".address", "it is not given: a flag has to say it, or metricsProviders of a DeschedulerPolicy")
	case !strings.HasPrefix(p.Address, "http://"):
		return nil
	case p.BearerTokenFile != "" || p.BearerTokenSecret.Name != "" || p.BasicAuth.Username != "":
		return warn(path+".address", "the token or password is sent over plain http")
	default:
		return note(path+".address", "it is asked over plain http: anybody between could make up usage")
	}
}
