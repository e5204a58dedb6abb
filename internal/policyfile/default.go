package policyfile

import "github.com/evenkeel/evenkeel/policy"

// defaultProfile is the DeschedulerPolicy used for a file that contains only a
// LoadPolicy. It equals the one that the project ships.
const defaultProfile = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: evenkeel
    pluginConfig:
      - name: DefaultEvictor
        args: {minReplicas: 2}
      - name: ` + policy.DefaultStrategy + `
        args: {}
    plugins:
      balance:
        enabled: [` + policy.DefaultStrategy + `]
`

// nothingToRun explains why a file without a DeschedulerPolicy runs nothing.
func nothingToRun(file *policy.File) string {
	switch {
	case file.Name == "":
		return "there is no policy, so there is nothing to run: name a file with --policy-config-file"
	case !file.Load.Eviction.DefaultProfile:
		return "there is nothing to run: it has no DeschedulerPolicy, and eviction.defaultProfile is false"
	default:
		return "there is nothing to run: it has no DeschedulerPolicy, and its lines name neither cpu nor memory"
	}
}
