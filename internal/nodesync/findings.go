package nodesync

import (
	"strings"

	"k8s.io/klog/v2"
)

// findings are the keys that other writers hold and the records that cannot be read, with how many nodes have them.
type findings map[Foreign]*finding

type finding struct {
	nodes    int
	examples []string
}

// corruptRecord is the finding of records that cannot be read.
var corruptRecord = Foreign{Kind: KindRecord}

func (f findings) add(node string, verdict Verdict) {
	for _, foreign := range verdict.Foreign {
		f.count(foreign, node)
	}
	if verdict.Corrupt {
		f.count(corruptRecord, node)
	}
}

func (f findings) count(what Foreign, node string) {
	if f[what] == nil {
		f[what] = &finding{}
	}
	f[what].nodes++
	if len(f[what].examples) < maxExamples {
		f[what].examples = append(f[what].examples, node)
	}
}

// tell exports findings and logs those that the last pass did not have.
func (s *Syncer) tell(logger klog.Logger, found findings) {
	var byKind [numKinds]int
	told := map[string]bool{}
	for what, f := range found {
		byKind[what.Kind] += f.nodes
		name := what.Kind.String() + " " + what.Key
		told[name] = true
		switch {
		case s.told[name]:
		case what == corruptRecord:
			logger.Info("Records of what nodesync wrote cannot be read and count as empty", "annotation", s.config.Policy.recordKey(),
				"nodes", f.nodes, "examples", strings.Join(f.examples, " "))
		default:
			logger.Info("Key is another writer's and left alone", "kind", what.Kind, "key", what.Key,
				"nodes", f.nodes, "examples", strings.Join(f.examples, " "))
		}
	}
	s.told = told
	for _, kind := range []Kind{KindAnnotations, KindLabel, KindTaint} {
		s.metrics.foreign.WithLabelValues(kind.String()).Set(float64(byKind[kind]))
	}
	s.metrics.corrupt.Set(float64(byKind[KindRecord]))
}
