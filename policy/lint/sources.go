package lint

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// sources finds sources that an attacker on the network could impersonate, and sources
// that have no address.
func (s *survey) sources() {
	for i := range s.load.Usage.Sources {
		d := s.load.Usage.Sources[i].Config.Describe()
		path := fmt.Sprintf("usage.sources[%d]", i)
		if d.TLS.InsecureSkipVerify {
			s.warn(path, "the certificate of %s is not checked (insecureSkipVerify): anyone on the network path could fake usage and would receive the token", d.Name)
		}
		if d.Server != nil {
			s.server(d.Server, path+"."+source.Block(d.Name))
		}
	}
}

func (s *survey) server(server *source.Server, path string) {
	switch {
	case server.Address == "" && server.Elsewhere == "":
		s.warn(path+".address", "it is not set, so no process starts with this policy")
	case server.Address == "" && !hasProvider(s.Profiles):
		s.note(path+".address", "it is not set: set it by %s", server.Elsewhere)
	case !strings.HasPrefix(server.Address, "http://"):
	case server.Login:
		s.warn(path+".address", "the token or password is sent over plain http")
	default:
		s.note(path+".address", "it is queried over plain http: anyone on the network path could fake usage")
	}
}
