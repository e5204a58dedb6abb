package evenkeel

import (
	"slices"
	"strings"
	"sync"
)

// reports has the address of the reports of each process, by the address where
// kube-scheduler asks it.
var reports sync.Map

// Reports returns the URL of the reports of the process that kube-scheduler asks
// at an address, now or later.
func Reports(listen string) string {
	address, known := reports.Load(listen)
	if !known {
		free, err := FreeAddress()
		if err != nil {
			free = "127.0.0.1:0" // nothing listens there, so the client reports an error
		}
		address, _ = reports.LoadOrStore(listen, free)
	}
	return "http://" + address.(string)
}

// ReportBehind registers that the process that kube-scheduler asks at one address serves
// at another, until undo is called.
func ReportBehind(listen, backend string) (undo func()) {
	before := strings.TrimPrefix(Reports(listen), "http://")
	reports.Store(listen, strings.TrimPrefix(Reports(backend), "http://"))
	return func() { reports.Store(listen, before) }
}

// ReportThere registers that the process that kube-scheduler asks at an address also
// reports there, like versions that have no separate address for reports.
func ReportThere(listen string) { reports.Store(listen, listen) }

// withReports adds to arguments where to serve reports, for commands that have
// any: several processes run on one machine.
func withReports(args []string) []string {
	if len(args) == 0 || args[0] != "serve" && args[0] != "extender" {
		return args
	}
	listen := ""
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.ReplaceAll(arg, "_", "-"), "=")
		switch {
		case name != "--listen-address":
		case joined:
			listen = value
		case i+1 < len(args):
			listen = args[i+1]
		}
	}
	address := strings.TrimPrefix(Reports(listen), "http://")
	if address == listen {
		return args
	}
	return append(slices.Clone(args), "--report-address", address)
}
