package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/evenkeel/evenkeel"
	// simulator is the folder of the simulator's own module, and also its path below the path of
	// the main module.
	simulator = "sim"
)

// pureRooms lists the packages that decide but never act. They map values to values, and the time
// is an argument. Each entry is one package; the folders below it are separate rooms. Pure rooms
// import no rooms except each other.
var pureRooms = []string{
	"compat", // what legacy files mean today
	"compat/crane",
	"compat/descheduler",
	"compat/openshift",
	"compat/presets",
	"compat/pressure",
	"compat/scheduler",
	"compat/schedulerconfig",
	"policy",                    // what the user wants
	"policy/check",              // whether a setting may have a value
	"internal/likely",           // which word was meant
	"policy/rewritten",          // the conversion of a file
	"policy/lint",               // what a policy does, and likely mistakes in it
	"policy/calendar",           // when evicting is allowed
	"policy/shape",              // whether a document fits its type
	"cluster",                   // what the cluster looks like
	"cluster/names",             // what steering by names writes into a pod
	"internal/jsonscan",         // how JSON is read
	"internal/quantity",         // how amounts are read
	"reasons",                   // why something is not done
	"observe/usage",             // what is really used
	"observe/usage/contention",  // how long containers wait
	"observe/forecast",          // what will be used
	"observe/usage/source",      // what a usage source is
	"observe/requests",          // who asks for less than is used
	"observe/thresholds",        // which levels of usage are significant
	"scorer",                    // what a node will use with a pod on it
	"ledger",                    // which moves are in flight
	"evictor/safeguards",        // whether anything may be evicted now
	"evictor/saved",             // how much hot time moves have saved
	"evictor/owners",            // the state of a pod's controller
	"strategies",                // what strategies share
	"strategies/realusage/plan", // which pods to move where
	"sim/recording",             // what is stored of a live cluster
	"sim/fairshare",             // what each pod gets of a full node
	"sim/rivals",                // the algorithms of other projects
	"status",                    // what is reported about nodes, pods, moves and plans
	"status/text",               // how reports are printed
	"status/page",               // the page of a process
	"internal/terminal/layout",  // the layout of output for people
}

// impureImports must not be imported by a pure room, and neither may anything below them.
var impureImports = []string{
	"github.com/prometheus",
	"k8s.io/client-go",
	"k8s.io/klog",
	"k8s.io/utils/clock",
	"math/rand",
	"net/http",
	"os",
}

// clockNames are the functions of package time that read the clock or wait for it.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// apart are the wings that share only values: one may import only pure rooms from another.
var apart = []string{"strategies", "scorer", "evictor"}

// floors are the folders from the top floor down. A package may import packages of its own floor
// and of lower ones. The innermost folder that is listed determines a package's floor.
var floors = [][]string{
	{"cmd", "examples", "hack", simulator, "internal/arch"},
	{"internal/app", "internal/commands"},
	{"internal/cleanup", "internal/flags", "internal/policyfile", "internal/settings", "compat"},
	{"status"},
	{"cycle"},
	{"policy", "strategies", "scorer", "evictor"},
	{"observe", "policy/check"},
	{"ledger", "placement", "cluster", "reasons"},
	{"internal", "deploy"},
}

// upward lists the exceptions: imports that run up, with the reason.
var upward = map[string]string{
	// The observation contains the board, which is a value.
	"observe/observer": "scorer",
	// Tests share helpers that combine the values of several rooms.
	"internal/testkit": "",
}

// importers lists who may import a package or anything below it, if not every package may. A folder
// represents everything below it.
var importers = map[string][]string{
	"cmd": {},
	// What runs in a cluster must not contain the simulator, which runs it.
	simulator: {simulator},
	// Reports to people use both evicting and scheduling, but neither uses reports.
	"status":            {"cmd", "internal", "status", simulator},
	"internal/app":      {"cmd", "internal/app", "internal/commands", simulator},
	"internal/commands": {"cmd", "internal/commands"},
	// Only programs know legacy systems. They pass converters and the like on to other packages.
	"compat":             {"cmd", "compat", simulator},
	"compat/presets":     {"compat"},
	"evictor/leadership": {"internal/app", "evictor/leadership", "status/serve"},
	"cycle":              {"internal", "cycle", "status/live", simulator},
	"cluster/slim":       {"internal", "evictor/custom", simulator},

	"k8s.io/kubernetes/pkg/scheduler": {"cmd/kube-scheduler", "placement", simulator},
}

// A pure room imports nothing that can act, and no room that is not pure.
func TestPureRoomsImportOnlyPureRooms(t *testing.T) {
	for _, pkg := range packages(t) {
		if !isPure(pkg.room) {
			continue
		}
		for imported, where := range pkg.imports {
			room, ours := roomOf(imported)
			switch {
			case ours && !isPure(room):
				t.Errorf("%s: pure room %s imports %s, which is not pure", where, pkg.room, room)
			case !ours && within(imported, impureImports...):
				t.Errorf("%s: pure room %s imports %s", where, pkg.room, imported)
			}
		}
	}
}

// A pure room starts no goroutine and never reads the clock.
func TestPureRoomsHoldStill(t *testing.T) {
	for _, pkg := range packages(t) {
		if !isPure(pkg.room) {
			continue
		}
		for _, file := range pkg.files {
			for _, found := range restless(file) {
				t.Errorf("%s: pure room %s %s", pkg.position(found.node), pkg.room, found.what)
			}
		}
	}
}

// Strategies, scorer and evictor share only values.
func TestWingsShareOnlyValues(t *testing.T) {
	for _, pkg := range packages(t) {
		wing := firstOf(pkg.room, apart)
		for imported, where := range pkg.imports {
			room, ours := roomOf(imported)
			other := firstOf(room, apart)
			if ours && wing != "" && other != "" && wing != other && !isPure(room) {
				t.Errorf("%s: %s imports %s, which is not a room of values", where, pkg.room, room)
			}
		}
	}
}

// Packages with a list of importers are imported by no others.
func TestImportersAreListed(t *testing.T) {
	for _, pkg := range packages(t) {
		for imported, where := range pkg.imports {
			target := imported
			if room, ours := roomOf(imported); ours {
				target = room
			}
			if guarded := guardOf(target); guarded != "" && !within(pkg.room, importers[guarded]...) {
				t.Errorf("%s: %s imports %s; only these may: %q", where, pkg.room, imported, importers[guarded])
			}
		}
	}
}

// Imports run down, except for the listed ones.
func TestImportsRunDown(t *testing.T) {
	for _, pkg := range packages(t) {
		for imported, where := range pkg.imports {
			room, ours := roomOf(imported)
			if !ours {
				continue
			}
			from, to := floorOf(t, pkg.room), floorOf(t, room)
			if except, listed := upward[pkg.room]; to < from && (!listed || !within(room, except) && except != "") {
				t.Errorf("%s: %s imports %s, which is above it", where, pkg.room, room)
			}
		}
	}
}

// floorOf returns the floor of a package, 0 for the top one.
func floorOf(t *testing.T, room string) (floor int) {
	t.Helper()
	narrowest := ""
	for i, folders := range floors {
		for _, folder := range folders {
			if within(room, folder) && len(folder) > len(narrowest) {
				floor, narrowest = i, folder
			}
		}
	}
	if narrowest == "" {
		t.Fatalf("package %s is on no floor", room)
	}
	return floor
}

// guardOf returns the innermost folder of a package that has a list of importers, or "" if there is
// none.
func guardOf(target string) (guard string) {
	for guarded := range importers {
		if within(target, guarded) && len(guarded) > len(guard) {
			guard = guarded
		}
	}
	return guard
}

// finding is a position in a file and what is wrong there.
type finding struct {
	node ast.Node
	what string
}

// restless finds the goroutines that a file starts and its uses of the clock.
func restless(file *ast.File) []finding {
	clock := importName(file, "time")
	var found []finding
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			found = append(found, finding{n, "starts a goroutine"})
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && clock != "" && x.Name == clock && slices.Contains(clockNames, n.Sel.Name) {
				found = append(found, finding{n, fmt.Sprintf("uses time.%s", n.Sel.Name)})
			}
		}
		return true
	})
	return found
}

func isPure(room string) bool { return slices.Contains(pureRooms, room) }

// roomOf returns the folder of a package of this module.
func roomOf(importPath string) (room string, ours bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// within reports whether p is one of the roots or below one of them.
func within(p string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return p == root || strings.HasPrefix(p, root+"/")
	})
}

// firstOf returns the first root that contains p, or "" if there is none.
func firstOf(p string, roots []string) string {
	for _, root := range roots {
		if within(p, root) {
			return root
		}
	}
	return ""
}
