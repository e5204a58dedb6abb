package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// negotiate returns the first format accepted by the client that this server supports:
// protobuf or JSON.
func negotiate(r *http.Request) (runtime.SerializerInfo, error) {
	accepted := r.Header.Get("Accept")
	for media := range strings.SplitSeq(accepted, ",") {
		media, _, _ = strings.Cut(strings.TrimSpace(media), ";")
		if info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media); ok && info.StreamSerializer != nil {
			return info, nil
		}
	}
	return runtime.SerializerInfo{}, fmt.Errorf("none of %q is served", accepted)
}

// list answers with one page, up to the client's limit.
func (s *server) list(w http.ResponseWriter, r *http.Request, k *kind, media runtime.SerializerInfo) {
	from, _ := strconv.Atoi(r.FormValue("continue"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	from = min(max(from, 0), k.count)
	to, rest := k.count, ""
	if limit > 0 && from+limit < k.count {
		to = from + limit
		rest = strconv.Itoa(to)
	}
	items := make([]runtime.Object, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, k.make(i, firstVersion))
	}
	var body bytes.Buffer
	page, err := k.list(items, strconv.Itoa(firstVersion), rest)
	if err == nil {
		err = media.Serializer.Encode(page, &body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media.MediaType)
	_, _ = body.WriteTo(w)
}

// onePod answers with the pod whose name ends with its index, or that it is gone.
func (s *server) onePod(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	i, err := strconv.ParseInt(name[max(0, len(name)-indexDigits):], 16, 32)
	if err != nil || int(i) >= s.pods() || s.podName(int(i)) != name {
		status := apierrors.NewNotFound(v1.Resource("pods"), name).Status()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	media, err := negotiate(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", media.MediaType)
	_ = media.Serializer.Encode(s.pod(int(i), firstVersion), w)
}

// refuse answers like an API server that does not support streamed lists.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,` +
		`"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`))
}
