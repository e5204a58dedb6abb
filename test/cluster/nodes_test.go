package cluster

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddressesOfNodes(t *testing.T) {
	tests := map[string]struct {
		first   string
		n       int
		want    []string
		refused bool
	}{
		"nodes share kwok's unless told otherwise": {n: 2},
		"addresses are counted up":                 {first: "127.1.0.255", n: 2, want: []string{"127.1.0.255", "127.1.1.0"}},
		"kwok's own is not given away":             {first: "127.0.0.0", n: 2, refused: true},
		"nothing leaves loopback":                  {first: "127.255.255.255", n: 2, refused: true},
		"a name is no address":                     {first: "localhost", n: 1, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			addresses, err := NodeTemplate{FirstAddress: tc.first}.addresses(tc.n)
			if refused := err != nil; refused != tc.refused {
				t.Fatalf("refused: %v, want %t", err, tc.refused)
			}
			if diff := cmp.Diff(tc.want, texts(addresses)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func texts(addresses []netip.Addr) []string {
	var all []string
	for _, address := range addresses {
		all = append(all, address.String())
	}
	return all
}
