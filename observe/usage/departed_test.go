package usage

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// daemons is the usage of n1 outside its pods, in milli-cores.
const daemons = 1000

// samplesOf samples a node on which pods arrive, leave and restart between two samples. Each sample
// is a rate since the previous one, so it includes half the usage of the pods that left or arrived
// in between.
type samplesOf struct {
	store  *Store
	pods   map[string]*cluster.Pod
	used   map[string]int64 // milli-cores, by pod
	hidden map[string]bool  // the source does not report these pods
	system int64
	second int
	every  int // seconds between samples
	passed int64
}

func sampledEvery(t *testing.T, every, pods int) *samplesOf {
	t.Helper()
	s := &samplesOf{
		store: newStore(t, func(c *Config) { c.MaxAge, c.MinWindow = 10*time.Minute, 0 }), every: every, system: daemons,
		pods: map[string]*cluster.Pod{}, used: map[string]int64{}, hidden: map[string]bool{},
	}
	for i := range pods {
		name := fmt.Sprint("p", i)
		s.pods[name], s.used[name] = aPod(name, requesting(amounts(100, 0))), 100
	}
	return s
}

func (s *samplesOf) leave(names ...string) {
	for _, name := range names {
		s.passed += s.used[name] / 2
		delete(s.pods, name)
	}
}

func (s *samplesOf) come(name string, used int64) {
	s.pods[name], s.used[name] = aPod(name, startedAt(s.second+s.every/2)), used
	s.passed -= used / 2
}

// restart restarts a container, whose usage is then measured from zero.
func (s *samplesOf) restart(name string, used int64) {
	pod := *s.pods[name]
	pod.RunningAfter = int32(at(s.second + s.every/2).Sub(pod.Started).Seconds())
	s.passed += (s.used[name] - used) / 2
	s.pods[name], s.used[name] = &pod, used
}

// sample takes the next sample and returns the usage outside pods that was derived from it.
func (s *samplesOf) sample(read func(b *told, node int64) *told) int64 {
	s.second += s.every
	node, b := s.system+s.passed, readAt(s.second)
	s.passed = 0
	snapshot := nodeWith("n1")
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		snapshot.Pods = append(snapshot.Pods, s.pods[name])
		node += s.used[name]
		if !s.hidden[name] {
			b.pod(name, amounts(s.used[name], 0))
		}
	}
	s.store.Ingest(snapshotOf(snapshot), read(b, node).Batch)
	return node1(s.store, snapshotOf(snapshot), s.second).System[cluster.CPU]
}

func asLast(b *told, node int64) *told { return b.node("n1", amounts(node, 0)) }

// The usage of pods that left during a sample must not be mistaken for usage outside pods, because
// further pods would then have to leave to no avail. Pods that arrive or restart must not change
// the usage outside pods either, in however many consecutive samples they do so.
// many samples in a row they do so.
func TestSystemIsNotDerivedFromPodsThatComeAndGo(t *testing.T) {
	const rounds, perRound = 24, 4
	for name, between := range map[string]func(s *samplesOf, round int){
		"nothing": func(*samplesOf, int) {},
		"pods leave": func(s *samplesOf, round int) {
			for i := range perRound {
				s.leave(fmt.Sprint("p", perRound*round+i))
			}
		},
		"pods come": func(s *samplesOf, round int) { s.come(fmt.Sprint("new", round), 300) },
		"pods are replaced": func(s *samplesOf, round int) {
			s.leave(fmt.Sprint("p", round))
			s.come(fmt.Sprint("new", round), 100)
		},
		"the same pod restarts": func(s *samplesOf, round int) { s.restart("p0", []int64{10, 900}[round%2]) },
		"hidden pods leave": func(s *samplesOf, round int) {
			if round == 0 {
				for name := range s.pods {
					s.hidden[name] = name != "p99"
				}
				return
			}
			s.leave(fmt.Sprint("p", round))
		},
	} {
		for _, every := range []int{15, 300} {
			t.Run(fmt.Sprintf("%s,every=%ds", name, every), func(t *testing.T) {
				s := sampledEvery(t, every, 100)
				for range 10 {
					s.sample(asLast)
				}
				for round := range rounds {
					between(s, round)
					system := s.sample(asLast)
					if system != daemons {
						t.Errorf("round %d: the usage outside pods is derived as %dm, want %dm", round, system, daemons)
					}
				}
			})
		}
	}
}

// Usage outside pods beyond what the departed pods can explain is recognized at once, and all of it
// once no more pods leave.
func TestSystemRisesBesidePodsThatLeave(t *testing.T) {
	s := sampledEvery(t, 300, 100)
	s.sample(asLast)
	s.sample(asLast)
	s.system = 5000
	want := []int64{daemons, 4950, 4950, 4950, 4950, 5000}
	for i := range want {
		if i < 4 {
			s.leave(fmt.Sprint("p", i))
		}
		if system := s.sample(asLast); system != want[i] {
			t.Errorf("sample %d: the usage outside pods is derived as %dm, want %dm", i, system, want[i])
		}
	}
	s.system = 300
	for i, want := range []int64{300, 300} {
		s.leave(fmt.Sprint("p", 10+i))
		if system := s.sample(asLast); system > want+50 {
			t.Errorf("the usage outside pods is derived as %dm, want %dm", system, want)
		}
	}
}

// Five-minute means include departed pods for five minutes. Even while a pod
// leaves every minute, the usage outside pods stays known.
func TestSystemIsKnownBesidePodsThatLeaveMeans(t *testing.T) {
	s := sampledEvery(t, 60, 100)
	var node []int64
	asMean := func(b *told, now int64) *told {
		node = append(node, now)
		sum := int64(0)
		last := node[max(len(node)-5, 0):]
		for _, v := range last {
			sum += v
		}
		return b.means("n1", amounts(sum/int64(len(last)), 0))
	}
	for range 6 {
		s.sample(asMean)
	}
	for i := range 30 {
		s.leave(fmt.Sprint("p", i))
		if i == 15 {
			s.system += 4000
		}
		system := s.sample(asMean)
		if least, most := int64(daemons), s.system; i > 25 && system < 4000 || system < least || system > most {
			t.Errorf("minute %d: the usage outside pods is derived as %dm, want %dm", i, system, s.system)
		}
	}
}
