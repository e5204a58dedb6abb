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

// bookmarkEvery is the interval between bookmarks; API servers send them about once a
// minute.
const bookmarkEvery = time.Minute

// watch streams events: first all objects if the client requests them, then changes until
// the timeout.
func (s *server) watch(w http.ResponseWriter, r *http.Request, k *kind, media runtime.SerializerInfo) {
	w.Header().Set("Content-Type", media.MediaType+";stream=watch")
	stream := newStream(w, media)
	if r.FormValue("sendInitialEvents") == "true" {
		for i := range k.count {
			if stream.send(watch.Added, k.make(i, firstVersion)) != nil {
				return
			}
		}
		if stream.bookmark(k, firstVersion, true) != nil {
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
		seconds, err = 600, nil
	}
	over, bookmark := time.NewTimer(time.Duration(seconds)*time.Second), time.NewTicker(bookmarkEvery)
	change, birth := pace(k, k.updates), pace(k, k.births)
	defer over.Stop()
	defer bookmark.Stop()
	defer change.Stop()
	defer birth.Stop()
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-over.C:
			return
		case <-bookmark.C:
			err = stream.bookmark(k, int(s.version.Load()), false)
		case <-change.C:
			err = stream.send(watch.Modified, k.make(rand.IntN(k.count), s.next()))
		case <-birth.C:
			err = s.replace(k, rand.IntN(k.count), stream)
		}
		if err == nil {
			err = stream.flush()
		}
	}
}

// pace ticks the given number of times per second; practically never for 0.
func pace(k *kind, perSecond float64) *time.Ticker {
	if k.count == 0 || perSecond <= 0 {
		return time.NewTicker(1000 * time.Hour)
	}
	return time.NewTicker(time.Duration(float64(time.Second) / perSecond))
}

// replace deletes an object and adds a new one.
func (s *server) replace(k *kind, i int, stream *stream) error {
	if err := stream.send(watch.Deleted, k.make(i, s.next())); err != nil {
		return err
	}
	k.renew(i)
	return stream.send(watch.Added, k.make(i, s.next()))
}

// stream encodes and writes events.
type stream struct {
	media   runtime.SerializerInfo
	out     *bufio.Writer
	frames  io.Writer
	control *http.ResponseController
	// object and event are encoding buffers.
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

func (s *stream) bookmark(k *kind, version int, initial bool) error {
	object, err := k.bookmark(strconv.Itoa(version), initial)
	if err != nil {
		return err
	}
	return s.send(watch.Bookmark, object)
}

func (s *stream) flush() error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}
