package scheduler

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxExtenders is the maximum number of extenders in a Policy; kube-scheduler asks each
// of them about every pod.
const maxExtenders = 100

func (p *legacyPolicy) validate() field.ErrorList {
	var errs field.ErrorList
	if w := p.HardPodAffinitySymmetricWeight; w < 0 || w > 100 {
		errs = append(errs, field.Invalid(field.NewPath("hardPodAffinitySymmetricWeight"), w, "must be 1 to 100, or 0 for the default"))
	}
	path := field.NewPath("extenders")
	if len(p.Extenders) > maxExtenders {
		return append(errs, field.TooMany(path, len(p.Extenders), maxExtenders))
	}
	resources, binder := map[string]bool{}, -1
	for i := range p.Extenders {
		e, at := &p.Extenders[i], path.Index(i)
		errs = append(errs, e.validate(at)...)
		errs = append(errs, e.validateResources(resources, at.Child("managedResources"))...)
		switch {
		case e.BindVerb == "":
		case binder >= 0:
			errs = append(errs, field.Forbidden(at.Child("bindVerb"), fmt.Sprintf("extenders[%d] already binds, and only one extender may", binder)))
		default:
			binder = i
		}
	}
	return errs
}

func (e *legacy) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if e.URLPrefix == "" {
		errs = append(errs, field.Required(path.Child("urlPrefix"), "the extender's address"))
	}
	switch {
	case e.PrioritizeVerb != "" && e.Weight <= 0:
		errs = append(errs, field.Invalid(path.Child("weight"), e.Weight, "must be above 0 with prioritizeVerb"))
	case e.Weight < 0:
		errs = append(errs, field.Invalid(path.Child("weight"), e.Weight, "must not be negative"))
	}
	if at := path.Child("httpTimeout"); e.HTTPTimeout < 0 || e.HTTPTimeout > 0 && e.HTTPTimeout < int64(time.Millisecond) {
		errs = append(errs, field.Invalid(at, e.HTTPTimeout, "must be nanoseconds, at least 1000000 (1ms), such as 200000000 for 200ms; 0 is the default"))
	}
	if e.TLSConfig != nil {
		errs = append(errs, e.TLSConfig.validate(path.Child("tlsConfig"))...)
	}
	return errs
}

func (e *legacy) validateResources(seen map[string]bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range e.ManagedResources {
		at := path.Index(i).Child("name")
		switch {
		case !extended(r.Name):
			errs = append(errs, field.Invalid(at, r.Name, "must be the name of an extended resource, such as example.com/gpu"))
		case seen[r.Name]:
			errs = append(errs, field.Duplicate(at, r.Name))
		}
		seen[r.Name] = true
	}
	return errs
}

// extended reports whether a name is that of an extended resource, which a cluster
// defines in addition to those of Kubernetes.
func extended(name string) bool {
	const quota = "requests." // the prefix of resources in quotas
	return strings.Contains(name, "/") && !strings.Contains(name, "kubernetes.io/") && !strings.HasPrefix(name, quota) &&
		len(validation.IsQualifiedName(quota+name)) == 0
}

func (t *tls) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, data := range []struct{ name, value string }{{"certData", t.CertData}, {"keyData", t.KeyData}, {"caData", t.CAData}} {
		if _, err := base64.StdEncoding.DecodeString(data.value); err != nil {
			errs = append(errs, field.Invalid(path.Child(data.name), "(not shown)", "must be base64"))
		}
	}
	return errs
}
