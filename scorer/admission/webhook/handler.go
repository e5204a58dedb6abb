// Package webhook steers for API servers without MutatingAdmissionPolicy. It answers reviews of new pods according to
// the rules of the policy evenkeel-steer in deploy/components/admission-steering-names. It rejects no pod. If it cannot
// answer, the webhook's failurePolicy lets the pod pass.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

const (
	// Path is the URL path to which reviews are posted.
	Path = "/steer"
	// within is how long a review may take to arrive and be answered. The API server waits for a second.
	within = 500 * time.Millisecond
	// maxBody is larger than the review of any pod that etcd can store. atOnce limits how many reviews use memory at
	// the same time.
	maxBody = 2 << 20
	atOnce  = 16
	// maxValues is more than the number of values in a real pod. It limits the memory
	// that a long list of short values can take.
	maxValues = 20_000
)

// handler answers reviews.
type handler struct {
	keys *admission.Followed
	now  func() time.Time
	// turns holds one element for each review that is being answered.
	turns   chan struct{}
	reviews *prometheus.CounterVec
}

// The results of reviews.
const (
	resultSteered   = "steered"
	resultUnsteered = "unsteered"
	resultRefused   = "refused" // not a review, or too many at once
)

// New returns a handler of reviews that uses keys, and registers its metrics.
func New(keys *admission.Followed, now func() time.Time, registry prometheus.Registerer) http.Handler {
	h := &handler{keys: keys, now: now, turns: make(chan struct{}, atOnce)}
	h.reviews = promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "evenkeel_webhook_responses_total", Help: "Responses to the API server about new pods, by result.",
	}, []string{"result"})
	for _, result := range []string{resultSteered, resultUnsteered, resultRefused} {
		h.reviews.WithLabelValues(result)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, h)
	return mux
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	deadline, _ := ctx.Deadline()
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(deadline) // if unsupported, the server's own deadlines apply
	_ = conn.SetWriteDeadline(deadline.Add(within / 2))
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		h.refuse(w, r, http.StatusServiceUnavailable, errors.New("others are being answered"))
		return
	}
	review, err := read(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		h.refuse(w, r, http.StatusBadRequest, err)
		return
	}
	result := resultUnsteered
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	patch, err := h.patch(review)
	if err != nil {
		extender.LogRefused(klog.FromContext(ctx), "A pod cannot be steered", "namespace", review.Request.Namespace, "reason", err.Error())
	} else if patch != nil {
		result = resultSteered
		answer.Patch, answer.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
	}
	h.reviews.WithLabelValues(result).Inc()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(&admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: answer}) // an error cannot be reported to anyone
}

// refuse answers a request that is not a review.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, code int, err error) {
	h.reviews.WithLabelValues(resultRefused).Inc()
	extender.LogRefused(klog.FromContext(r.Context()), "Review refused", "client", r.RemoteAddr, "reason", err.Error())
	http.Error(w, "not an AdmissionReview that can be answered", code)
}

// asked is the part of an AdmissionReview that is needed. Only the object in it contains lists and maps, so nothing
// else takes more memory than its JSON text.
type asked struct {
	metav1.TypeMeta
	Request *request `json:"request"`
}

type request struct {
	UID         types.UID               `json:"uid"`
	Kind        metav1.GroupVersionKind `json:"kind"`
	SubResource string                  `json:"subResource"`
	Namespace   string                  `json:"namespace"`
	Operation   admissionv1.Operation   `json:"operation"`
	Object      runtime.RawExtension    `json:"object"`
}

func read(body io.Reader) (*asked, error) {
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("reading a review: %w", err)
	}
	var review asked
	if err := utiljson.Unmarshal(content, &review); err != nil {
		return nil, fmt.Errorf("decoding a review: %w", err)
	}
	if review.Request == nil {
		return nil, errors.New("the review has no request")
	}
	return &review, nil
}

var (
	reviewV1 = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}
	podV1    = metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// decodePod decodes only those fields of a pod that steering needs. A whole pod contains
// quantities, and some quantities take minutes to parse.
func decodePod(raw []byte) (*v1.Pod, error) {
	if n := jsonscan.Values(raw); n > maxValues {
		return nil, fmt.Errorf("the pod has %d values: must be at most %d", n, maxValues)
	}
	var of struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			NodeName                  string                        `json:"nodeName"`
			NodeSelector              map[string]string             `json:"nodeSelector"`
			Affinity                  *v1.Affinity                  `json:"affinity"`
			SchedulingGates           []v1.PodSchedulingGate        `json:"schedulingGates"`
			TopologySpreadConstraints []v1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(raw, &of); err != nil {
		return nil, fmt.Errorf("decoding a pod: %w", err)
	}
	return &v1.Pod{ObjectMeta: of.ObjectMeta, Spec: v1.PodSpec{
		NodeName: of.Spec.NodeName, NodeSelector: of.Spec.NodeSelector, Affinity: of.Spec.Affinity,
		SchedulingGates: of.Spec.SchedulingGates, TopologySpreadConstraints: of.Spec.TopologySpreadConstraints,
	}}, nil
}

// patch returns the patch that steers a new pod; nil if the pod is not to be steered, and an error if it cannot be
// read.
func (h *handler) patch(review *asked) ([]byte, error) {
	request := review.Request
	if review.TypeMeta != reviewV1 || request.Kind != podV1 || request.Operation != admissionv1.Create || request.SubResource != "" {
		return nil, nil
	}
	pod, err := decodePod(request.Object.Raw)
	if err != nil {
		return nil, err
	}
	if !steerable(pod) {
		return nil, nil
	}
	nodes, hold := h.keys.Of(request.Namespace, pod, h.now())
	if len(nodes) == 0 {
		return nil, nil
	}
	steps := steer(pod, nodes, hold)
	if len(steps) == 0 {
		return nil, nil
	}
	return admission.Encode(steps...)
}
