package lint

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/usage/source"
)

// sources finds sources that anybody between could answer for, or that are not
// told where to ask.
func sources(s *Subject) []Finding {
	var findings []Finding
	for i := range s.load.Usage.Sources {
		d := s.load.Usage.Sources[i].Config.Describe()
		path := fmt.Sprintf("usage.sources[%d]", i)
		if d.TLS.InsecureSkipVerify {
			findings = append(findings, warn(path, "the certificate of %s is not checked (insecureSkipVerify): anybody between could make up usage, and is sent the token", d.Name)...)
		}
		if d.Server != nil {
			findings = append(findings, s.server(d.Server, path+"."+source.Block(d.Name))...)
		}
	}
	return findings
}

func (s *Subject) server(server *source.Server, path string) []Finding {
	switch {
	case server.Address == "" && !hasProvider(s.Profiles):
		return note(path+".address", "it is not given: a flag has to say it, or metricsProviders of a DeschedulerPolicy")
	case !strings.HasPrefix(server.Address, "http://"):
		return nil
	case server.Login:
		return warn(path+".address", "the token or password is sent over plain http")
	default:
		return note(path+".address", "it is asked over plain http: anybody between could make up usage")
	}
}
