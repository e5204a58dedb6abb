package evenkeel

import (
	"slices"
	"strings"
	"sync"
)

// reports maps the addresses that kube-scheduler calls to the addresses of the same
// processes' reports.
var reports sync.Map

// Reports returns the URL of the reports of the process that kube-scheduler calls, now or
// later, at the address listen.
func Reports(listen string) string {
	address, known := reports.Load(listen)
	if !known {
		free, err := FreeAddress()
		if err != nil {
			free = "127.0.0.1:0" // nothing listens there, so that clients report an error
		}
		address, _ = reports.LoadOrStore(listen, free)
	}
	return "http://" + address.(string)
}

// ReportBehind registers that the process that kube-scheduler calls at the address listen
// serves at the address backend, until undo is called.
func ReportBehind(listen, backend string) (undo func()) {
	before := strings.TrimPrefix(Reports(listen), "http://")
	reports.Store(listen, strings.TrimPrefix(Reports(backend), "http://"))
	return func() { reports.Store(listen, before) }
}

// ReportThere registers that the process that kube-scheduler calls at an address also
// serves its reports there, as versions without a separate address for reports do.
func ReportThere(listen string) { reports.Store(listen, listen) }

// withReports adds the address for reports to the arguments of commands that serve
// reports, because several processes run on one machine.
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
