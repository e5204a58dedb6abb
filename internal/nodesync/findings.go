package nodesync

// maxExamples bounds the nodes that a log line names.
const maxExamples = 5

// findings are the keys that other writers hold and the records that cannot be
// read, with how many nodes have them.
type findings map[Foreign]*finding

type finding struct {
	nodes    int
	examples []string
}

// corruptRecord is the finding of records that cannot be read.
var corruptRecord = Foreign{Kind: KindRecord}

func (f findings) add(node string, decision Decision) {
	for _, foreign := range decision.Foreign {
		f.count(foreign, node)
	}
	if decision.Corrupt {
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
