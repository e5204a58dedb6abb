package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

// From Kubernetes 1.36 on, nodes declare their features and kube-scheduler compares them.
func TestDeclaredFeaturesByVersion(t *testing.T) {
	cases := map[string]struct {
		served  string
		want    bool
		wantErr bool
	}{
		"before":                {served: "v1.35.9"},
		"the first":             {served: "v1.36.0", want: true},
		"a provider's":          {served: "v1.36.2-eks-3cfe0ce", want: true},
		"a provider's, earlier": {served: "v1.35.4-gke.1200"},
		"a later one":           {served: "v1.40.1", want: true},
		"none":                  {served: "", wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"major":"1","minor":"36+","gitVersion":%q}`, tc.served)
			}))
			t.Cleanup(server.Close)
			c, err := Connect(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.DeclaredFeatures()
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("DeclaredFeatures() = %v, %v; want %v, error %v", got, err, tc.want, tc.wantErr)
			}
		})
	}
}
