package pause

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/reasons"
)

const ledgerName = "evenkeel-ledger"

func configMap(name string, change func(*v1.ConfigMap)) *v1.ConfigMap {
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: name}}
	change(object)
	return object
}

// While the kill switch exists, evictions are stopped, whatever the ledger contains. If it does not
// exist, they are allowed. If it cannot be read, they are stopped, unless the process does not need
// permission to read it. The annotation of earlier versions counts as well. Nothing is written.
func TestSwitch(t *testing.T) {
	stop := func(data map[string]string) *v1.ConfigMap {
		return configMap(Name, func(c *v1.ConfigMap) { c.Data = data })
	}
	annotated := func(value string) *v1.ConfigMap {
		return configMap(ledgerName, func(c *v1.ConfigMap) { c.Annotations = map[string]string{Annotation: value} })
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no rule"))
	broken := apierrors.NewInternalError(errors.New("etcd"))
	const object, annotation = "ConfigMap evenkeel/evenkeel-pause", `annotation evenkeel.io/paused="true" on ConfigMap evenkeel/evenkeel-ledger`
	paused := func(detail string) State { return State{Reason: reasons.Paused, Detail: detail} }
	unreadable := func(name string, err error) State {
		return State{Reason: reasons.PauseUnreadable, Detail: "reading ConfigMap evenkeel/" + name + ": " + err.Error()}
	}
	cases := map[string]struct {
		objects  []runtime.Object
		answers  map[string]error // by name
		optional bool
		want     State
	}{
		"neither is there":           {},
		"it is there":                {objects: []runtime.Object{stop(nil)}, want: paused(object)},
		"with a reason":              {objects: []runtime.Object{stop(map[string]string{"reason": " incident\n\x1b[31m 4711"})}, want: paused(object + " (incident  [31m 4711)")},
		"with an endless reason":     {objects: []runtime.Object{stop(map[string]string{"reason": strings.Repeat("é", 500)})}, want: paused(object + " (" + strings.Repeat("é", 100) + ")")},
		"whatever the annotation is": {objects: []runtime.Object{stop(nil), annotated("false")}, want: paused(object)},
		"by annotation":              {objects: []runtime.Object{annotated("true")}, want: State{Reason: reasons.Paused, ByAnnotation: true, Detail: annotation}},
		"annotated false":            {objects: []runtime.Object{annotated("false")}},
		"it may not be read":         {answers: map[string]error{Name: forbidden}, want: unreadable(Name, forbidden)},
		"the API server is broken":   {answers: map[string]error{Name: broken}, want: unreadable(Name, broken)},
		"the ledger may not be read": {answers: map[string]error{ledgerName: forbidden}, want: unreadable(ledgerName, forbidden)},
		"neither may be, nor need be": {
			answers: map[string]error{Name: forbidden, ledgerName: forbidden}, optional: true,
		},
		"it need not be, and is": {
			objects: []runtime.Object{stop(nil)}, answers: map[string]error{ledgerName: forbidden}, optional: true, want: paused(object),
		},
		"optional, but unreadable now": {answers: map[string]error{Name: broken}, optional: true, want: unreadable(Name, broken)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(tc.objects...)
			client.PrependReactor("get", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
				err := tc.answers[action.(clienttesting.GetAction).GetName()]
				return err != nil, nil, err
			})
			s := NewSwitch(client, "evenkeel", ledgerName, prometheus.NewRegistry())
			got := s.Read(t.Context(), tc.optional)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got != s.Last() {
				t.Errorf("remembered %+v", s.Last())
			}
			if (got.Err() == nil) != (tc.want.Reason == "") || (got.String() == "") != (tc.want.Reason == "") {
				t.Errorf("error %v, words %q", got.Err(), got)
			}
			for _, action := range client.Actions() {
				if action.GetVerb() != "get" {
					t.Errorf("it did more than read: %v", action)
				}
			}
		})
	}
	if got := (*Switch)(nil).Last(); got != (State{}) {
		t.Errorf("a process without one: %+v", got)
	}
}
