package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAudit(t *testing.T) {
	const (
		watchBegins = `{"auditID":"a","stage":"ResponseStarted","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
		watchEnds   = `{"auditID":"a","stage":"ResponseComplete","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"u"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`
		eviction    = `{"auditID":"b","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods/p/eviction?dryRun=All","verb":"create","user":{"username":"u"},"objectRef":{"resource":"pods","subresource":"eviction","namespace":"n","name":"p"},"responseStatus":{"code":201}}`
		health      = `{"auditID":"c","stage":"ResponseComplete","requestURI":"/readyz","verb":"get","user":{"username":"v"},"responseStatus":{"code":403}}`
	)
	watch := Request{User: "u", Verb: "watch", Resource: "pods", Code: 200}
	tests := map[string]struct {
		log  string
		want Requests
	}{
		"a watch that has begun counts":          {log: watchBegins + "\n", want: Requests{watch}},
		"a watch that has ended counts once":     {log: watchBegins + "\n" + watchEnds + "\n", want: Requests{watch}},
		"a watch older than the mark may count":  {log: watchEnds + "\n", want: Requests{watch}},
		"a line still being written is left out": {log: watchBegins + "\n" + eviction[:40], want: Requests{watch}},
		"subresource and dry run are told": {
			log:  eviction + "\n",
			want: Requests{{User: "u", Verb: "create", Resource: "pods/eviction", Namespace: "n", Name: "p", Code: 201, DryRun: true}},
		},
		"without a resource the path stands": {
			log:  health + "\n",
			want: Requests{{User: "v", Verb: "get", Resource: "/readyz", Code: 403}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readAudit(strings.NewReader(tc.log))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWritesLeaveOutWhatIsNotStored(t *testing.T) {
	requests := Requests{
		{Verb: "get", Resource: "pods"},
		{Verb: "create", Resource: "pods/eviction", DryRun: true},
		{Verb: "create", Resource: "subjectaccessreviews"},
		{Verb: "create", Resource: "pods/eviction", Code: 429},
		{Verb: "patch", Resource: "events"},
	}
	want := Requests{requests[3], requests[4]}
	if diff := cmp.Diff(want, requests.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
