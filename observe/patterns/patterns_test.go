package patterns

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// told holds the known patterns and records the patterns that the keeper passes to it.
type told struct {
	knows   string
	adopted string
}

func (k *told) Patterns(int) []byte { return []byte(k.knows) }

func (k *told) AdoptPatterns(data []byte) error {
	k.adopted = string(data)
	return nil
}

// term runs a keeper until it has read the stored patterns, and then ends it.
func term(t *testing.T, client *fake.Clientset, known *told) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the keeper still reads and writes
	keeper := Keeper{Client: client, Namespace: "evenkeel", Known: known}
	if err := keeper.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// A new leader has the patterns that the previous one stored when its term ended. Other keys of the
// object are kept.
func TestOneTermAfterTheOther(t *testing.T) {
	client := fake.NewClientset()
	first := &told{knows: "a"}
	term(t, client, first)
	object, err := client.CoreV1().ConfigMaps("evenkeel").Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Data = map[string]string{"theirs": "x"}
	if _, err := client.CoreV1().ConfigMaps("evenkeel").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := &told{knows: "ab"}
	term(t, client, second)
	if first.adopted != "" || second.adopted != "a" {
		t.Errorf("the first took in %q, the second %q; want nothing and what the first knew", first.adopted, second.adopted)
	}
	object, err = client.CoreV1().ConfigMaps("evenkeel").Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil || string(object.BinaryData[key]) != "ab" || object.Data["theirs"] != "x" {
		t.Errorf("stored: %v, %v", object, err)
	}
}

// Nothing is stored if no patterns are known, and a failed read or write has no other effect.
func TestPatternsAreBestEffort(t *testing.T) {
	client := fake.NewClientset()
	term(t, client, &told{})
	if list, err := client.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("stored: %v, %v", list, err)
	}
	client.PrependReactor("*", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, (*v1.ConfigMap)(nil), errors.New("forbidden")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	keeper := Keeper{Client: client, Namespace: "evenkeel", Known: &told{knows: "a"}}
	if err := keeper.Run(ctx); err != nil {
		t.Errorf("it ends the process: %v", err)
	}
}

// Stored patterns that could not be read at once are not overwritten before they are read.
func TestWhatWasNotReadIsNotOverwritten(t *testing.T) {
	client := fake.NewClientset(&v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel", Name: Name}, BinaryData: map[string][]byte{key: []byte("seven days")},
	})
	failed := false
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failed {
			return false, nil, nil
		}
		failed = true
		return true, nil, errors.New("the server was unable to return a response in the time allotted")
	})
	known := &told{knows: "one day"}
	keeper := Keeper{Client: client, Namespace: "evenkeel", Known: known}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the keeper stores when it ends
	if err := keeper.Run(ctx); err != nil {
		t.Fatal(err)
	}
	object, err := client.CoreV1().ConfigMaps("evenkeel").Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(object.BinaryData[key]); got != "seven days" && known.adopted == "" {
		t.Errorf("%q was never read, and is %q now", "seven days", got)
	}
}
