package doctor

import (
	"fmt"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

func examineSchedulerConfig(p *Patient) []Finding {
	file := p.SchedulerConfig
	if file == nil {
		return nil
	}
	config, err := readSchedulerConfig(file.Data)
	if err != nil {
		return []Finding{{
			Check: CheckExtender, Level: Problem, Subject: file.Name, Says: fmt.Sprintf("kube-scheduler cannot read it as it is meant: %v.", err),
			Mend: "apiVersion: " + schedulerv1.SchemeGroupVersion.String() + "\nkind: " + schedulerConfigKind,
		}}
	}
	says, plugged := "Its extenders entry for Evenkeel is as it should be.", pluggedProfiles(config)
	var findings []Finding
	if len(plugged) > 0 {
		says, findings = "Evenkeel's plugin is enabled as it should be.", p.examinePlugins(config, plugged)
	} else {
		findings = entriesOf(config, p)
	}
	findings = append(findings, steeredProfiles(config, p, plugged)...)
	if len(findings) == 0 {
		findings = append(findings, fine(CheckExtender, file.Name, "%s", says))
	}
	for i := range findings {
		findings[i].Check = CheckExtender
		if findings[i].Subject == "" {
			findings[i].Subject = file.Name
		} else if findings[i].Subject != file.Name {
			findings[i].Subject = file.Name + ": " + findings[i].Subject
		}
	}
	return findings
}
