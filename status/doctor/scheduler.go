package doctor

import (
	"strings"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

func examineSchedulerConfig(p *Installation, n *notes) {
	file := p.SchedulerConfig
	if file == nil {
		return
	}
	config, err := readSchedulerConfig(file.Data)
	if err != nil {
		n.problem(file.Name, "kube-scheduler cannot read it as intended: %v.", err).
			fix("apiVersion: " + schedulerv1.SchemeGroupVersion.String() + "\nkind: " + schedulerConfigKind)
		return
	}
	summary, plugged := "Its extenders entry for Evenkeel is correct.", p.pluggedProfiles(config)
	if len(plugged) > 0 {
		summary = "Evenkeel's plugin is enabled correctly."
		p.examinePlugins(n, config, plugged)
	} else {
		entriesOf(n, config, p)
	}
	steeredProfiles(n, config, p, plugged)
	if len(n.findings) == 0 {
		n.ok("", "%s", summary)
	}
	for i := range n.findings {
		f := &n.findings[i]
		f.Subject = strings.TrimSuffix(file.Name+": "+f.Subject, ": ")
	}
}
