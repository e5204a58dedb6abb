package configmap

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/ledger"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk is an API server, together with what a Store reports.
type desk struct {
	client   *fake.Clientset
	reported []string
}

func newDesk(objects ...runtime.Object) *desk { return &desk{client: fake.NewClientset(objects...)} }

func (d *desk) store(t *testing.T, writer string) *Store {
	t.Helper()
	s, err := New(Config{
		Client: d.client, Namespace: "evenkeel", Name: "ledger", Writer: writer, Timeout: time.Second,
		Now:    func() time.Time { return noon },
		Report: func(err error) { d.reported = append(d.reported, err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (d *desk) object(t *testing.T) *v1.ConfigMap {
	t.Helper()
	object, err := d.client.CoreV1().ConfigMaps("evenkeel").Get(t.Context(), "ledger", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func configMap(change func(*v1.ConfigMap)) *v1.ConfigMap {
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: "ledger", ResourceVersion: "1"}}
	change(object)
	return object
}

func documentOf(pods ...string) ledger.Document {
	l := ledger.New(ledger.Config{})
	for _, pod := range pods {
		l.Record(noon, ledger.Intent{Namespace: "ns", Pod: pod, PodUID: "uid-" + pod, From: "hot", To: "cool", TTL: time.Minute})
	}
	return l.Export()
}

func pods(d ledger.Document) []string {
	var names []string
	for i := range d.Moves {
		names = append(names, d.Moves[i].Pod)
	}
	return names
}

func TestWhatOneWritesAnotherReads(t *testing.T) {
	d := newDesk()
	writer := d.store(t, "first")
	if got, err := writer.Load(t.Context()); err != nil || got.Format != 0 {
		t.Fatalf("without a ConfigMap: %+v, %v", got, err)
	}
	for generation, names := range [][]string{{"a"}, {"a", "b"}} {
		if err := writer.Save(t.Context(), documentOf(names...)); err != nil {
			t.Fatal(err)
		}
		got, err := d.store(t, "second").Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names, pods(got)); diff != "" || got.Generation != int64(generation+1) || got.Writer != "first" {
			t.Errorf("read generation %d of %q (-want +got):\n%s", got.Generation, got.Writer, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"generation": "2", "writer": "first", "written": "2026-03-01T12:00:00Z", "inFlight": "2",
	}, d.object(t).Data); diff != "" {
		t.Errorf("for persons (-want +got):\n%s", diff)
	}
	if len(d.reported) > 0 {
		t.Errorf("reported %q", d.reported)
	}
}

// Content that does not belong to the store survives every write.
func TestContentOfOthersStays(t *testing.T) {
	d := newDesk(configMap(func(c *v1.ConfigMap) {
		c.Labels = map[string]string{"team": "sre"}
		c.Annotations = map[string]string{"evenkeel.io/paused": "false"}
		c.Data = map[string]string{"note": "ours"}
		c.BinaryData = map[string][]byte{"blob": {1, 2}}
	}))
	if err := d.store(t, "w").Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	got := d.object(t)
	if got.Labels["team"] != "sre" || got.Annotations["evenkeel.io/paused"] != "false" || got.Data["note"] != "ours" || len(got.BinaryData["blob"]) != 2 {
		t.Errorf("left %+v", got)
	}
}

// unreadable returns contents that this version cannot read as a ledger, and the complete copies
// that must be set aside.
func unreadable(t *testing.T) map[string]struct {
	change func(*v1.ConfigMap)
	kept   string
} {
	t.Helper()
	packed, err := documentOf("a").Encode()
	if err != nil {
		t.Fatal(err)
	}
	half, newer, huge := string(packed[:len(packed)/2]), string(zipped(t, `{"format":2,"moves":[]}`)), strings.Repeat("x", 900<<10)
	stored := func(content string) func(*v1.ConfigMap) {
		return func(c *v1.ConfigMap) {
			delete(c.Data, Key)
			c.BinaryData = map[string][]byte{Key: []byte(content)}
		}
	}
	return map[string]struct {
		change func(*v1.ConfigMap)
		kept   string
	}{
		"garbage":                    {stored("garbage"), "garbage"},
		"truncated":                  {stored(half), half},
		"empty":                      {stored(""), ""},
		"written by a newer version": {stored(newer), newer},
		"somebody's text":            {func(c *v1.ConfigMap) { c.Data, c.BinaryData = map[string]string{Key: "a text"}, nil }, "a text"},
		"as much as fits":            {stored(huge), huge},
	}
}

// aside returns what was set aside, in order.
func (d *desk) aside(t *testing.T) (all []string) {
	t.Helper()
	for n := 1; ; n++ {
		object, err := d.client.CoreV1().ConfigMaps("evenkeel").Get(t.Context(), fmt.Sprintf("ledger-set-aside-%d", n), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if object.Annotations["evenkeel.io/found"] != "2026-03-01T12:00:00Z" || object.Annotations["evenkeel.io/why"] == "" {
			t.Errorf("it does not say when it was found and why: %v", object.Annotations)
		}
		all = append(all, string(object.BinaryData[Key]))
	}
}

func zipped(t *testing.T, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// changes changes the object as another client would.
func (d *desk) changes(t *testing.T, change func(*v1.ConfigMap)) {
	t.Helper()
	object := d.object(t)
	change(object)
	object.ResourceVersion = "changed"
	if _, err := d.client.CoreV1().ConfigMaps("evenkeel").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// In a process that holds the ledger, unreadable content is reported once and
// kept under another key, and nothing fails.
func TestUnreadableIsSetAside(t *testing.T) {
	for name, tc := range unreadable(t) {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			s := d.store(t, "w")
			if err := s.Save(t.Context(), documentOf("a")); err != nil {
				t.Fatal(err)
			}
			d.changes(t, tc.change)
			for range 2 {
				if got, err := s.Load(t.Context()); err != nil || len(got.Moves) > 0 {
					t.Fatalf("loaded %+v, %v", got, err)
				}
			}
			if len(d.reported) != 1 || !strings.Contains(d.reported[0], `"evenkeel/ledger"`) {
				t.Errorf("reported %q, want it once, with the object's name", d.reported)
			}
			if err := s.Save(t.Context(), documentOf("a")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.kept}, d.aside(t)); diff != "" || d.object(t).Data[Key] != "" {
				t.Errorf("set aside (-want +got):\n%.300s", diff)
			}
			if got, err := d.store(t, "x").Load(t.Context()); err != nil || len(got.Moves) != 1 {
				t.Errorf("read %+v, %v", got, err)
			}
		})
	}
}

// A process that does not hold the ledger does not start from unreadable content and does not
// overwrite it. It continues once the stored content is restored or removed.
func TestUnreadableIsNotBegunWith(t *testing.T) {
	for name, tc := range unreadable(t) {
		t.Run(name, func(t *testing.T) {
			d := newDesk(configMap(tc.change))
			s, stored := d.store(t, "w"), d.object(t).DeepCopy()
			for range 2 {
				if _, err := s.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
					t.Fatalf("Load: %v, want %v", err, ErrUnreadable)
				}
				if err := s.Save(t.Context(), documentOf("a")); !errors.Is(err, ErrUnreadable) {
					t.Fatalf("Save: %v, want %v", err, ErrUnreadable)
				}
			}
			if diff := cmp.Diff(stored, d.object(t)); diff != "" {
				t.Errorf("what was stored has changed (-want +got):\n%s", diff)
			}
			if len(d.reported) != 1 || !strings.Contains(d.reported[0], `"evenkeel/ledger"`) || !strings.Contains(d.reported[0], "kubectl -n evenkeel annotate") {
				t.Errorf("reported %q, want it once, with the object's name and what to do", d.reported)
			}
			d.changes(t, func(c *v1.ConfigMap) { c.Data, c.BinaryData = nil, nil })
			if got, err := s.Load(t.Context()); err != nil || got.Format != 0 {
				t.Errorf("once it was removed: %+v, %v", got, err)
			}
			if err := s.Save(t.Context(), documentOf("a")); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("restored", func(t *testing.T) {
		d := newDesk()
		if err := d.store(t, "before").Save(t.Context(), documentOf("a")); err != nil {
			t.Fatal(err)
		}
		good := d.object(t).BinaryData[Key]
		d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = good[:9] })
		s := d.store(t, "w")
		if _, err := s.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
			t.Fatalf("Load: %v, want %v", err, ErrUnreadable)
		}
		d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = good })
		if got, err := s.Load(t.Context()); err != nil || len(got.Moves) != 1 {
			t.Errorf("read %+v, %v", got, err)
		}
	})
}

// accept acknowledges the loss as a user would, with the command in the last report.
func (d *desk) accept(t *testing.T) {
	t.Helper()
	_, value, _ := strings.Cut(d.reported[len(d.reported)-1], AcceptAnnotation+"=")
	value, _, _ = strings.Cut(value, ";")
	d.changes(t, func(c *v1.ConfigMap) { c.Annotations = map[string]string{AcceptAnnotation: value} })
}

// A process that does not hold the ledger continues without it once a user accepts the loss of the
// unreadable one. All of its content is kept, generations continue, and another loss must be
// accepted separately.
func TestLossIsAccepted(t *testing.T) {
	for name, tc := range unreadable(t) {
		t.Run(name, func(t *testing.T) {
			d := newDesk(configMap(func(c *v1.ConfigMap) {
				tc.change(c)
				if c.Data == nil {
					c.Data = map[string]string{}
				}
				c.Data["generation"] = "41"
			}))
			s := d.store(t, "w")
			if _, err := s.Load(t.Context()); !errors.Is(err, ErrUnreadable) || s.Unreadable() == nil {
				t.Fatalf("Load: %v, want %v", err, ErrUnreadable)
			}
			d.accept(t)
			if got, err := s.Load(t.Context()); err != nil || len(got.Moves) > 0 || s.Unreadable() != nil || !s.Damaged() {
				t.Fatalf("once it is accepted: %+v, %v", got, err)
			}
			if err := s.Save(t.Context(), documentOf("b")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.kept}, d.aside(t)); diff != "" {
				t.Errorf("set aside (-want +got):\n%.300s", diff)
			}
			object := d.object(t)
			if _, still := object.Annotations[AcceptAnnotation]; still || object.Data["generation"] != "42" || s.Damaged() {
				t.Errorf("annotations %v, data %v", object.Annotations, object.Data)
			}
			d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("other garbage") })
			if _, err := d.store(t, "next").Load(t.Context()); !errors.Is(err, ErrUnreadable) {
				t.Errorf("the next loss: %v, want %v", err, ErrUnreadable)
			}
		})
	}
}

// An acknowledgement applies to exactly one content of the key. Earlier content is not overwritten,
// and neither is content that changed after it was read.
func TestAnotherLossIsNotAccepted(t *testing.T) {
	d := newDesk(configMap(func(c *v1.ConfigMap) { c.BinaryData = map[string][]byte{Key: []byte("garbage")} }))
	s := d.store(t, "w")
	_, _ = s.Load(t.Context())
	d.accept(t)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("more garbage") })
	if err := s.Save(t.Context(), documentOf("a")); !errors.Is(err, ErrUnreadable) {
		t.Errorf("Save: %v, want %v", err, ErrUnreadable)
	}
	if _, err := s.Load(t.Context()); !errors.Is(err, ErrUnreadable) {
		t.Errorf("Load: %v, want %v", err, ErrUnreadable)
	}
	if got := d.aside(t); got != nil || string(d.object(t).BinaryData[Key]) != "more garbage" {
		t.Errorf("set aside %q", got)
	}
}

// A process that once held the ledger does not overwrite a ledger that another process has since
// written in a version that this process cannot read. That would lose the other process's moves in
// flight.
func TestOnlyTheNewestIsRestored(t *testing.T) {
	signed := func(generation, writer string) func(*v1.ConfigMap) {
		return func(c *v1.ConfigMap) {
			c.BinaryData[Key] = []byte("format 2")
			c.Data = map[string]string{"generation": generation, "writer": writer}
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1.ConfigMap)
		seen   bool // the watch has reported a later ledger
		want   error
	}{
		"its own":                     {change: signed("1", "w")},
		"its own, the answer lost":    {change: signed("2", "w")},
		"signed by nobody":            {change: func(c *v1.ConfigMap) { c.Data, c.BinaryData[Key] = nil, []byte("x") }},
		"signed with nonsense":        {change: signed("-9999999999999999999999", "other")},
		"of another, later":           {change: signed("2", "other"), want: ErrUnreadable},
		"after a later one was known": {change: signed("1", "w"), seen: true, want: ErrUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			s := d.store(t, "w")
			if err := s.Save(t.Context(), documentOf("a")); err != nil {
				t.Fatal(err)
			}
			if tc.seen {
				later := configMap(func(*v1.ConfigMap) {})
				document := documentOf("b")
				document.Generation, document.Writer = 2, "other"
				if err := fill(later, document); err != nil {
					t.Fatal(err)
				}
				s.handler(func(ledger.Document) {}).OnAdd(later, false)
			}
			d.changes(t, tc.change)
			if _, err := s.Load(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("Load: %v, want %v", err, tc.want)
			}
			if err := s.Save(t.Context(), documentOf("a")); !errors.Is(err, tc.want) {
				t.Errorf("Save: %v, want %v", err, tc.want)
			}
		})
	}
}

// Unreadable content is kept next to earlier copies as long as names are free. After that, nothing
// is overwritten until somebody has looked at the copies.
func TestAllThatIsSetAsideIsKept(t *testing.T) {
	d := newDesk()
	s := d.store(t, "w")
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range maxSetAside {
		next := fmt.Sprintf("garbage %d", n)
		want = append(want, next)
		d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte(next) })
		if err := s.Save(t.Context(), documentOf("a")); err != nil {
			t.Fatal(err)
		}
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("one more") })
	if err := s.Save(t.Context(), documentOf("a")); err == nil || !strings.Contains(err.Error(), "delete them") {
		t.Errorf("without a free name: %v", err)
	}
	if diff := cmp.Diff(want, d.aside(t)); diff != "" || string(d.object(t).BinaryData[Key]) != "one more" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
	if err := d.client.CoreV1().ConfigMaps("evenkeel").Delete(t.Context(), "ledger-set-aside-3", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	want[2] = "one more"
	if diff := cmp.Diff(want, d.aside(t)); diff != "" {
		t.Errorf("once one was deleted (-want +got):\n%s", diff)
	}
}

// Content is set aside only once, even if the first attempt to write the ledger failed.
func TestSetAsideOnce(t *testing.T) {
	d := newDesk()
	s := d.store(t, "w")
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("garbage") })
	left := 2
	d.client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		left--
		return left >= 0, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "ledger", errors.New("changed"))
	})
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"garbage"}, d.aside(t)); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
}

// Content that cannot be kept is not overwritten.
func TestSetAsideRefused(t *testing.T) {
	d := newDesk()
	s := d.store(t, "w")
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	d.changes(t, func(c *v1.ConfigMap) { c.BinaryData[Key] = []byte("garbage") })
	d.client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "ledger-set-aside-1", errors.New("exceeded quota"))
	})
	if err := s.Save(t.Context(), documentOf("a")); !apierrors.IsForbidden(err) || string(d.object(t).BinaryData[Key]) != "garbage" {
		t.Errorf("saved: %v", err)
	}
}

// If two processes both believe that they lead, the second one to write finds out that it does not.
func TestOnlyOneWrites(t *testing.T) {
	d := newDesk()
	first, second := d.store(t, "first"), d.store(t, "second")
	for _, s := range []*Store{first, second} {
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Save(t.Context(), documentOf("b")); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(t.Context(), documentOf("a")); !errors.Is(err, ErrTaken) {
		t.Errorf("error %v, want %v", err, ErrTaken)
	}
	if _, err := first.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(t.Context(), documentOf("a", "b")); err != nil {
		t.Errorf("after reading what the other wrote: %v", err)
	}
}

// A write whose response was lost does not count as a write of another process.
func TestLostAnswer(t *testing.T) {
	d := newDesk()
	s := d.store(t, "w")
	if err := s.Save(t.Context(), documentOf("a")); err != nil {
		t.Fatal(err)
	}
	lost := true
	d.client.PrependReactor("update", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !lost {
			return false, nil, nil
		}
		lost = false
		object := action.(clienttesting.UpdateAction).GetObject()
		if err := d.client.Tracker().Update(action.GetResource(), object, "evenkeel"); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewTimeoutError("lost", 1)
	})
	if err := s.Save(t.Context(), documentOf("a", "b")); err == nil {
		t.Fatal("a lost answer counts as an error")
	}
	if err := s.Save(t.Context(), documentOf("a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	if got := d.object(t).Data["generation"]; got != "3" {
		t.Errorf("generation %s, want 3", got)
	}
}

// Another client may change, delete or create the object between the read and the write.
func TestMeddling(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "ledger", errors.New("changed"))
	for name, tc := range map[string]struct {
		failures int
		err      error
		want     bool
	}{
		"changed once":             {1, conflict, true},
		"changed three times":      {3, conflict, true},
		"changed again and again":  {99, conflict, false},
		"deleted":                  {1, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "ledger"), true},
		"may not be written":       {99, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "ledger", nil), false},
		"immutable by now":         {99, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "ledger", nil), false},
		"the API server is broken": {99, apierrors.NewInternalError(errors.New("etcd")), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(configMap(func(*v1.ConfigMap) {}))
			left := tc.failures
			d.client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				left--
				return left >= 0, nil, tc.err
			})
			s := d.store(t, "w")
			err := s.Save(t.Context(), documentOf("a"))
			if (err == nil) != tc.want {
				t.Errorf("error %v", err)
			}
			if got := s.Generation(); (got == 1) != tc.want {
				t.Errorf("generation %d", got)
			}
		})
	}
}

// A deleted ConfigMap is created again.
func TestDeletedIsMadeAgain(t *testing.T) {
	d := newDesk()
	s := d.store(t, "w")
	for range 2 {
		if err := s.Save(t.Context(), documentOf("a")); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.client.CoreV1().ConfigMaps("evenkeel").Delete(t.Context(), "ledger", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), documentOf("a", "b")); err != nil {
		t.Fatal(err)
	}
	if got := d.object(t).Data["generation"]; got != "3" {
		t.Errorf("generation %s, want 3: it never goes back", got)
	}
}

// Follow reports every ledger that another process writes and unreadable content, but not a
// deletion.
func TestFollow(t *testing.T) {
	d := newDesk()
	follower := d.store(t, "follower")
	var told [][]string
	handler := follower.handler(func(document ledger.Document) { told = append(told, pods(document)) })
	write := func(writer string, names ...string) *v1.ConfigMap {
		object := configMap(func(*v1.ConfigMap) {})
		document := documentOf(names...)
		document.Writer, document.Generation = writer, int64(len(told)+1)
		if err := fill(object, document); err != nil {
			t.Fatal(err)
		}
		return object
	}
	handler.OnAdd(configMap(func(*v1.ConfigMap) {}), true) // empty
	handler.OnUpdate(nil, write("leader", "a"))
	handler.OnUpdate(nil, write("leader", "a", "b"))
	handler.OnUpdate(nil, write("follower", "a", "b", "c")) // its own
	handler.OnUpdate(nil, configMap(func(c *v1.ConfigMap) { c.BinaryData = map[string][]byte{Key: {1}} }))
	handler.OnDelete(configMap(func(*v1.ConfigMap) {}))
	handler.OnAdd(write("leader", "d"), false)
	other := write("leader", "e")
	other.Name = "another"
	handler.OnUpdate(nil, other)
	handler.OnAdd(&v1.Pod{}, false)
	if diff := cmp.Diff([][]string{{"a"}, {"a", "b"}, {"d"}}, told); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if len(d.reported) != 1 || follower.Generation() != 3 {
		t.Errorf("reported %q, generation %d", d.reported, follower.Generation())
	}
}

// A following replica reports an unreadable ledger for as long as it exists, because the next one
// may be written only with the next move, days later.
func TestUnreadableUntilDeleted(t *testing.T) {
	damaged := configMap(func(c *v1.ConfigMap) { c.BinaryData = map[string][]byte{Key: {1}} })
	theirs := damaged.DeepCopy()
	theirs.Name = "another"
	for name, tc := range map[string]struct {
		deleted any
		gone    bool
	}{
		"the watch saw it":       {damaged, true},
		"the watch was away":     {cache.DeletedFinalStateUnknown{Key: "evenkeel/ledger", Obj: damaged}, true},
		"another one is deleted": {theirs, false},
		"nothing is":             {&v1.Pod{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDesk().store(t, "follower")
			handler := s.handler(func(ledger.Document) {})
			if handler.OnAdd(damaged, true); s.Unreadable() == nil {
				t.Fatal("it was read")
			}
			if handler.OnDelete(tc.deleted); (s.Unreadable() == nil) != tc.gone {
				t.Errorf("unreadable: %v, want gone %v", s.Unreadable(), tc.gone)
			}
		})
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a Store of nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newDesk()
	d.client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, ctx.Err()
	})
	if err := d.store(t, "w").Save(ctx, documentOf("a")); err == nil {
		t.Error("saved without having read")
	}
}

// Reading the store's state, as metrics do, does not wait for the API server to respond to the
// store.
func TestReadingTheStateDoesNotWait(t *testing.T) {
	d := newDesk()
	s := d.store(t, "a")
	if err := s.Save(t.Context(), documentOf("web-1")); err != nil {
		t.Fatal(err)
	}
	asked := false
	d.client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked = true // Save is waiting for this response
		if s.Generation() != 1 || s.Size() == 0 || s.Unreadable() != nil || s.Damaged() {
			t.Errorf("generation %d, %d bytes, unreadable %v, damaged %v", s.Generation(), s.Size(), s.Unreadable(), s.Damaged())
		}
		return false, nil, nil
	})
	if err := s.Save(t.Context(), documentOf("web-1", "web-2")); err != nil || !asked || s.Generation() != 2 {
		t.Errorf("error %v, asked %v, generation %d", err, asked, s.Generation())
	}
}
