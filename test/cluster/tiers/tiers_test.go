package tiers

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = ".."

// A case needs no directive. Functions that are not tests are not cases.
func TestDirectives(t *testing.T) {
	const source = `package p
import "testing"
// TestPlain is documented.
func TestPlain(t *testing.T) {}
func TestBare(t *testing.T) {}
// TestLong takes its time.
//
//e2e:tier all
//e2e:alone
func TestLong(t *testing.T) {}
//e2e:tier measure
func TestFigures(t *testing.T) {}
func TestMain(m *testing.M) {}
func helper() {}
`
	got, err := parsed(t, source)
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Tier: Test, Package: "e2e", Name: "TestPlain"},
		{Tier: Test, Package: "e2e", Name: "TestBare"},
		{Tier: All, Package: "e2e", Name: "TestLong", Alone: true},
		{Tier: Measure, Package: "e2e", Name: "TestFigures"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], Test.Of(got)); diff != "" {
		t.Errorf("cases of tier test (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:3], All.Of(got)); diff != "" {
		t.Errorf("cases of tier all (-want +got):\n%s", diff)
	}
}

func parsed(t *testing.T, source string) ([]Case, error) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return casesOf("e2e", file)
}

// A misspelt directive is an error, so that no case changes its tier unnoticed.
func TestUnknownDirectivesAreRefused(t *testing.T) {
	for _, directive := range []string{"//e2e:tier sometimes", "//e2e:apart", "//e2e:", "//e2e:tier"} {
		if _, err := parsed(t, "package p\n"+directive+"\nfunc TestX() {}\n"); err == nil {
			t.Errorf("%q is accepted", directive)
		}
	}
}

// The cases of this module are found, including those outside e2e.
func TestCasesOfTheModule(t *testing.T) {
	cases, err := Cases(module)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, c := range cases {
		found[c.Package]++
	}
	for _, folder := range []string{"cmd/demo", "e2e", "e2e/admission", "rig"} {
		if found[folder] == 0 {
			t.Errorf("no case was found in %s", folder)
		}
	}
	if found["tiers"] > 0 {
		t.Error("this package starts no cluster, and its tests are cases")
	}
}
