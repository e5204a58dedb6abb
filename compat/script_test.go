package compat

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A script is read as a shell would read it. If something might change what it runs, the result is
// marked as unsure.
func TestScripts(t *testing.T) {
	const most = "--max-pods-to-evict-per-node=3"
	for name, tc := range map[string]struct {
		script string
		args   []string
		unsure bool
	}{
		"a command":                          {"descheduler " + most, []string{most}, false},
		"quotes in the middle of a word":     {`descheduler --node-"selec"tor='a b'`, []string{"--node-selector=a b"}, false},
		"escapes":                            {`descheduler --node\-selector=a\ b "\$x" '\$x'`, []string{"--node-selector=a b", "$x", `\$x`}, false},
		"an empty word":                      {`descheduler "" ''`, []string{"", ""}, false},
		"a continued line":                   {"descheduler \\\n  --node-sel\\\nector=a", []string{"--node-selector=a"}, false},
		"carriage returns":                   {"descheduler " + most + "\r\nexit 0\r\n", []string{most}, false},
		"a comment":                          {"# descheduler --a\ndescheduler " + most + " # --b", []string{most}, false},
		"redirections":                       {"descheduler " + most + " >/log 2>&1 </dev/null", []string{most}, false},
		"a pipe":                             {"true && descheduler " + most + " 2>&1 | tee /log; date", []string{most}, false},
		"in the background":                  {"descheduler " + most + " & wait", []string{most}, false},
		"a loop":                             {"while true; do descheduler " + most + "; sleep 60; done", []string{most}, false},
		"a condition":                        {"if ! descheduler " + most + "; then exit 1; fi", []string{most}, false},
		"a case":                             {"case $A in\nx) descheduler " + most + ";;\nesac", []string{most}, false},
		"a subshell":                         {"(cd / && exec descheduler " + most + ")", []string{most}, false},
		"with an environment variable":       {"A=b descheduler " + most, []string{most}, false},
		"timed":                              {"time -p descheduler " + most, []string{most}, false},
		"as another user":                    {`su -s /bin/sh -c 'descheduler ` + most + `' nobody`, []string{most}, false},
		"in another root":                    {"chroot /host descheduler " + most, []string{most}, false},
		"a shell in a shell":                 {`sh -ec "exec descheduler ` + most + `"`, []string{most}, false},
		"two of them":                        {"descheduler --a=1; descheduler --b=2", []string{"--a=1", "--b=2"}, false},
		"a variable":                         {`descheduler --node-selector=$A ${B} "$C"`, []string{"--node-selector=$A", "$B", "$C"}, false},
		"a variable with a default":          {"descheduler ${A:---node-selector=a}", []string{"${A:---node-selector=a}"}, true},
		"an arithmetic expansion":            {"descheduler --v=$((1 + 2))", []string{"--v=$((1 + 2))"}, true},
		"a command in a command":             {"descheduler $(cat /flags) `date`", []string{"$(cat /flags)", "`date`"}, true},
		"of which one runs the program":      {"echo $(descheduler --node-selector=a)", nil, true},
		"several words from brace expansion": {"descheduler --{a,b}=1", []string{"--{a,b}=1"}, true},
		"a heredoc beside it":                {"cat >/policy <<EOF\ndescheduler --node-selector=a\nEOF\ndescheduler " + most, []string{most}, false},
		"a quoted heredoc":                   {"cat >/policy <<-'EOF'\n\t$(x) `y` \"\n\tEOF\ndescheduler " + most, []string{most}, false},
		"a heredoc that a shell runs":        {"sh <<EOF\ndescheduler " + most + "\nEOF", nil, true},
		"a heredoc that does not end":        {"descheduler " + most + " <<EOF\n--a", []string{most, "<<EOF"}, true},
		"a function":                         {"run() { descheduler \"$@\"; }\nrun --node-selector=a", nil, true},
		"a function in bash syntax":          {"function descheduler { echo; }; descheduler " + most, []string{most}, true},
		"eval":                               {"eval descheduler; descheduler " + most, []string{most}, true},
		"set":                                {"set -eu; descheduler " + most, []string{most}, false},
		"set of parameters":                  {"set -- --a; descheduler \"$@\"", nil, true},
		"an alias":                           {"alias descheduler=echo; descheduler " + most, []string{most}, true},
		"arguments that are read":            {"xargs -a /flags descheduler " + most, []string{most}, true},
		"a quote that does not end":          {"descheduler " + most + " 'a", []string{most, ""}, true},
		"two quotes that do not end":         {"descheduler " + most + " \"a '", []string{most, "a '"}, true},
		"an extra parenthesis":               {"descheduler " + most + ")", []string{most + ")"}, true},
		"a block that does not end":          {"if true; then descheduler " + most, []string{most}, true},
		"nothing":                            {"", nil, true},
		"another program":                    {"echo descheduler " + most, nil, true},
		"whatever a variable holds":          {"$CMD " + most, nil, true},
		"no UTF-8":                           {"descheduler --node-selector=\xff", []string{"--node-selector=\xff"}, true},
		"an argument in bash's quoting":      {"descheduler $'--node-selector=a'", []string{"--node-selector=a"}, true},
		"a translated argument":              {"descheduler $\"--node-selector=a\"", []string{"--node-selector=a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := callOf([]string{"/bin/sh", "-c", tc.script}, []string{"descheduler"}, 0)
			want := call{at: -1, script: true, args: tc.args, unsure: tc.unsure}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// However deep and long a script is, it is read quickly and never crashes the process.
func TestDeepScripts(t *testing.T) {
	for _, length := range []int{longest, 1 << 20} {
		for _, opener := range []string{
			"$(", "(", "{ ", "`", "if ", "while ", "! ", "\"$(", "${a:-", "$((", "<(", "case a in a) ", "f() ", "[[ ( ", "time ", "a=(", "a | ", "\\`", "'", "\"", "<<A\n", "for a in b; do ", "coproc ", "let ", "sh -c '",
		} {
			begun := time.Now()
			script := strings.Repeat(opener, (length-len("descheduler"))/len(opener)) + "descheduler"
			got := callOf([]string{"sh", "-c", script}, []string{"descheduler"}, 0)
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%d bytes of %q took %v", length, opener, took)
			}
			if got.at >= 0 || !got.script {
				t.Errorf("%d bytes of %q: %+.200v", length, opener, got)
			}
			t.Logf("%d bytes of %q: unsure %v, args %.100q %v", length, opener, got.unsure, got.args, time.Since(begun))
		}
	}
}
