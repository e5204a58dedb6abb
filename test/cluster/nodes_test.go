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
		"addresses are counted up":     {first: "127.1.0.255", n: 2, want: []string{"127.1.0.255", "127.1.1.0"}},
		"kwok's own is not given away": {first: "127.0.0.0", n: 2, refused: true},
		"nothing leaves loopback":      {first: "127.255.255.255", n: 2, refused: true},
		"a name is no address":         {first: "localhost", n: 1, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			addresses, err := nodeAddresses(tc.first, tc.n)
			if refused := err != nil; refused != tc.refused {
				t.Fatalf("refused: %v, want %t", err, tc.refused)
			}
			if diff := cmp.Diff(tc.want, texts(addresses)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesShareKwoksAddressByDefault(t *testing.T) {
	if addresses, err := (NodeTemplate{}).addresses(2); err != nil || addresses != nil {
		t.Errorf("addresses %v, %v, want none", addresses, err)
	}
	addresses, err := NodeTemplate{OwnAddresses: true}.addresses(2)
	if err != nil || len(addresses) != 2 || addresses[0] == addresses[1] {
		t.Errorf("addresses %v, %v, want two different ones", addresses, err)
	}
}

func texts(addresses []netip.Addr) []string {
	var all []string
	for _, address := range addresses {
		all = append(all, address.String())
	}
	return all
}
