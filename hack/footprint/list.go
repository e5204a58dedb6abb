package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

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

// refuse answers like an API server that does not support streamed lists.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,` +
		`"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`))
}
