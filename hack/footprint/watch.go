package main

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkEvery is how often a watch is told how far it is, as API servers do about once a minute.
const bookmarkEvery = time.Minute

// watch streams events: all objects first if the client wants them so, then changes until its time is over.
func (s *server) watch(w http.ResponseWriter, r *http.Request, k *kind, media runtime.SerializerInfo) {
	w.Header().Set("Content-Type", media.MediaType+";stream=watch")
	stream := newStream(w, media)
	if r.FormValue("sendInitialEvents") == "true" {
		for i := range k.count {
			if stream.send(watch.Added, k.make(i, firstVersion)) != nil {
				return
			}
		}
		if stream.send(watch.Bookmark, k.empty(strconv.Itoa(firstVersion), map[string]string{metav1.InitialEventsAnnotationKey: "true"})) != nil {
			return
		}
	}
	if stream.flush() == nil {
		s.changes(r, k, stream)
	}
}

// changes sends changes at an even pace.
func (s *server) changes(r *http.Request, k *kind, stream *stream) {
	seconds, err := strconv.Atoi(r.FormValue("timeoutSeconds"))
	if err != nil {
		seconds = 600
	}
	over, bookmark := time.NewTimer(time.Duration(seconds)*time.Second), time.NewTicker(bookmarkEvery)
	change := time.NewTicker(time.Duration(float64(time.Second) / max(k.updates, 1e-3)))
	defer over.Stop()
	defer bookmark.Stop()
	defer change.Stop()
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-over.C:
			return
		case <-bookmark.C:
			err = stream.send(watch.Bookmark, k.empty(strconv.FormatInt(s.version.Load(), 10), nil))
		case <-change.C:
			err = stream.send(watch.Modified, k.make(rand.IntN(k.count), int(s.version.Add(1)))) //nolint:gosec // any will do
		}
		if err == nil {
			err = stream.flush()
		}
	}
}

// stream writes events in a format.
type stream struct {
	media   runtime.SerializerInfo
	out     *bufio.Writer
	frames  io.Writer
	control *http.ResponseController
	// object and event are room to encode in.
	object, event bytes.Buffer
}

func newStream(w http.ResponseWriter, media runtime.SerializerInfo) *stream {
	out := bufio.NewWriterSize(w, 64<<10)
	return &stream{media: media, out: out, frames: media.StreamSerializer.NewFrameWriter(out), control: http.NewResponseController(w)}
}

func (s *stream) send(kind watch.EventType, object runtime.Object) error {
	s.object.Reset()
	s.event.Reset()
	if err := s.media.Serializer.Encode(object, &s.object); err != nil {
		return err
	}
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: s.object.Bytes()}}
	if err := s.media.StreamSerializer.Encode(event, &s.event); err != nil {
		return err
	}
	_, err := s.frames.Write(s.event.Bytes())
	return err
}

func (s *stream) flush() error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}
