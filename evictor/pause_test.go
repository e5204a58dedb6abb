package evictor

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

// The kill switch stops while it exists, whatever the ledger says; absent it
// lets go; what cannot be read stops, unless the process needs no right to it.
// The annotation of earlier versions counts beside it.
func TestSwitch(t *testing.T) {
	forbidden := failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	broken := failing(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	stop := func(data map[string]string) *v1.ConfigMap {
		return &v1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: data}
	}
	const object, annotation = "ConfigMap evenkeel/evenkeel-pause", `annotation evenkeel.io/paused="true" on ConfigMap evenkeel/evenkeel-ledger`
	cases := map[string]struct {
		stopped       *v1.ConfigMap
		annotated     string
		answer        http.HandlerFunc // of the kill switch
		ledger        http.HandlerFunc
		optional      bool
		want          Pause
		detailEndsAny bool
	}{
		"neither is there":                       {},
		"it is there":                            {stopped: stop(nil), want: Pause{Reason: reasons.Paused, Detail: object}},
		"with a reason":                          {stopped: stop(map[string]string{"reason": " incident\n\x1b[31m 4711"}), want: Pause{Reason: reasons.Paused, Detail: object + " (incident  [31m 4711)"}},
		"with an endless reason":                 {stopped: stop(map[string]string{"reason": strings.Repeat("é", 500)}), want: Pause{Reason: reasons.Paused, Detail: object + " (" + strings.Repeat("é", 100) + ")"}},
		"whatever the annotation is":             {stopped: stop(nil), annotated: "false", want: Pause{Reason: reasons.Paused, Detail: object}},
		"by annotation":                          {annotated: "true", want: Pause{Reason: reasons.Paused, ByAnnotation: true, Detail: annotation}},
		"annotated false":                        {annotated: "false"},
		"it may not be read":                     {answer: forbidden, want: Pause{Reason: reasons.PauseUnreadable, Detail: "reading " + object}, detailEndsAny: true},
		"the API server is broken":               {answer: broken, want: Pause{Reason: reasons.PauseUnreadable, Detail: "reading " + object}, detailEndsAny: true},
		"the ledger may not be read":             {ledger: forbidden, want: Pause{Reason: reasons.PauseUnreadable, Detail: "reading ConfigMap evenkeel/evenkeel-ledger"}, detailEndsAny: true},
		"neither may be, and need be":            {answer: forbidden, ledger: forbidden, optional: true},
		"it need not be, and is":                 {stopped: stop(nil), ledger: forbidden, optional: true, want: Pause{Reason: reasons.Paused, Detail: object}},
		"it need not be, but cannot be read now": {answer: broken, optional: true, want: Pause{Reason: reasons.PauseUnreadable, Detail: "reading " + object}, detailEndsAny: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.stopped, a.paused, a.pauseAnswer, a.ledgerAnswer = tc.stopped, tc.annotated, tc.answer, tc.ledger
			s := NewSwitch(a.client, "evenkeel")
			got := s.Read(t.Context(), tc.optional)
			if got != s.Last() {
				t.Errorf("remembered %+v", s.Last())
			}
			if tc.detailEndsAny && strings.HasPrefix(got.Detail, tc.want.Detail+": ") {
				got.Detail = tc.want.Detail
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (got.Err() == nil) != (tc.want.Reason == "") || (got.String() == "") != (tc.want.Reason == "") {
				t.Errorf("error %v, words %q", got.Err(), got)
			}
			if a.requests(http.MethodGet) != len(a.asked) {
				t.Errorf("it did more than read: %q", a.asked)
			}
		})
	}
	if got := (*Switch)(nil).Last(); got != (Pause{}) {
		t.Errorf("a process without one: %+v", got)
	}
}
