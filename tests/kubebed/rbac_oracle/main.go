// rbac_oracle writes random roles, bindings and questions with the answers of Kubernetes' own RBAC
// authorizer, one JSON object a line. The same seed gives the same lines.
//
//	rbac_oracle -seed 1 -sets 10000
//
// A line has the objects as manifests, questions with `allowed`, and rules that a user wants to
// grant with those that it lacks (`missing`: component-helpers' Covers).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	covers "k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// Small pools: what is asked for must often be what is granted.
var (
	users      = []string{"ann", "bob", "system:serviceaccount:a:runner", "system:serviceaccount:b:runner", ""}
	groupNames = []string{"team-a", "team-b", "system:authenticated", "ann"}
	namespaces = []string{"a", "b"}
	verbs      = []string{"get", "list", "watch", "create", "update", "delete", "deletecollection", "impersonate", "*"}
	apiGroups  = []string{"", "batch", "kueue.x-k8s.io", "*"}
	resources  = []string{"jobs", "pods", "jobs/status", "jobs/own", "pods/log", "*/scale", "*/log", "jobs/scale", "*", "*/*", "jobs/*", "/log"}
	names      = []string{"one", "two", "", "*"}
	paths      = []string{"/metrics", "/metrics/*", "/api*", "/apis/**", "*", "/", "/version", "*/x"}
	roleNames  = []string{"r1", "r2", "r3", "system:r"}
)

type source struct{ *rand.Rand }

func (s source) one(pool []string) string { return pool[s.Intn(len(pool))] }

// some takes at least `least` entries, few of them.
func (s source) some(pool []string, least int) []string {
	taken := []string{}
	for n := least + s.Intn(3); len(taken) < n; {
		taken = append(taken, s.one(pool))
	}
	return taken
}

func (s source) rule(namespaced bool) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: s.some(verbs, 1)}
	if !namespaced && s.Intn(4) == 0 {
		rule.NonResourceURLs = s.some(paths, 1)
		return rule
	}
	rule.APIGroups, rule.Resources = s.some(apiGroups, 1), s.some(resources, 1)
	if s.Intn(3) == 0 {
		rule.ResourceNames = s.some(names, 1)
	}
	return rule
}

func (s source) rules(namespaced bool) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{}
	for n := 1 + s.Intn(4); len(rules) < n; {
		rules = append(rules, s.rule(namespaced))
	}
	return rules
}

func (s source) subjects(namespaced bool) []rbacv1.Subject {
	subjects := []rbacv1.Subject{}
	for n := 1 + s.Intn(4); len(subjects) < n; {
		switch s.Intn(3) {
		case 0:
			// A user without a name is no subject that Kubernetes' validation lets pass.
			subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.one(users[:len(users)-1])})
		case 1:
			subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: s.one(groupNames)})
		default:
			subject := rbacv1.Subject{Kind: "ServiceAccount", Name: "runner", Namespace: s.one(namespaces)}
			if namespaced && s.Intn(2) == 0 {
				subject.Namespace = ""
			}
			subjects = append(subjects, subject)
		}
	}
	return subjects
}

// set is one world. Objects of one kind have different names.
type set struct {
	roles               []*rbacv1.Role
	bindings            []*rbacv1.RoleBinding
	clusterRoles        []*rbacv1.ClusterRole
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
}

func (s source) set() set {
	made := set{}
	reference := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: s.one(roleNames)}
	}
	for _, name := range roleNames {
		if s.Intn(3) > 0 {
			made.clusterRoles = append(made.clusterRoles, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: s.rules(false)})
		}
		for _, namespace := range namespaces {
			if s.Intn(3) == 0 {
				meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
				made.roles = append(made.roles, &rbacv1.Role{ObjectMeta: meta, Rules: s.rules(true)})
			}
		}
	}
	for n := range 1 + s.Intn(3) {
		made.clusterRoleBindings = append(made.clusterRoleBindings, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("b", n)}, RoleRef: reference("ClusterRole"), Subjects: s.subjects(false)})
	}
	for n := range 2 + s.Intn(6) {
		meta := metav1.ObjectMeta{Name: fmt.Sprint("b", n), Namespace: s.one(namespaces)}
		made.bindings = append(made.bindings, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: reference(s.one([]string{"Role", "ClusterRole"})), Subjects: s.subjects(true)})
	}
	return made
}

type question struct {
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	Group       string   `json:"group"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Allowed     bool     `json:"allowed"`
}

func (s source) question() question {
	asked := question{User: s.one(users), Groups: s.some(groupNames, 0), Verb: s.one(verbs)}
	if s.Intn(5) == 0 {
		asked.Path = s.one([]string{"/metrics", "/metrics/jobs", "/api", "/apis/batch", "/version", "/", "/metricsx", "/healthz"})
		return asked
	}
	asked.Group, asked.Resource = s.one(apiGroups[:3]), s.one([]string{"jobs", "pods"})
	asked.Subresource = s.one([]string{"", "", "status", "own", "log", "scale"})
	asked.Namespace, asked.Name = s.one([]string{"", "a", "b", "c"}), s.one(names)
	return asked
}

type grant struct {
	User      string              `json:"user"`
	Groups    []string            `json:"groups"`
	Namespace string              `json:"namespace"`
	Wanted    []rbacv1.PolicyRule `json:"wanted"`
	Missing   []rbacv1.PolicyRule `json:"missing"`
}

type line struct {
	Objects   []any      `json:"objects"`
	Questions []question `json:"questions"`
	Grants    []grant    `json:"grants"`
}

func withKind[T any](kind string, object T) map[string]any {
	text, err := json.Marshal(object)
	check(err)
	made := map[string]any{}
	check(json.Unmarshal(text, &made))
	made["apiVersion"], made["kind"] = "rbac.authorization.k8s.io/v1", kind
	return made
}

func (made set) objects() []any {
	all := []any{}
	for _, one := range made.roles {
		all = append(all, withKind("Role", one))
	}
	for _, one := range made.clusterRoles {
		all = append(all, withKind("ClusterRole", one))
	}
	for _, one := range made.bindings {
		all = append(all, withKind("RoleBinding", one))
	}
	for _, one := range made.clusterRoleBindings {
		all = append(all, withKind("ClusterRoleBinding", one))
	}
	return all
}

// answer asks Kubernetes.
func (s source) answer(made set) line {
	ctx := context.Background()
	resolver, static := validation.NewTestRuleResolver(made.roles, made.bindings, made.clusterRoles, made.clusterRoleBindings)
	judge := rbac.New(static, static, static, static)
	out := line{Objects: made.objects()}
	for range 24 {
		asked := s.question()
		decision, _, _ := judge.Authorize(ctx, authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: asked.User, Groups: asked.Groups}, Verb: asked.Verb, Namespace: asked.Namespace,
			APIGroup: asked.Group, APIVersion: "v1", Resource: asked.Resource, Subresource: asked.Subresource, Name: asked.Name,
			ResourceRequest: asked.Path == "", Path: asked.Path})
		asked.Allowed = decision == authorizer.DecisionAllow
		out.Questions = append(out.Questions, asked)
	}
	for range 4 {
		wanted := grant{User: s.one(users), Groups: s.some(groupNames, 0), Namespace: s.one([]string{"", "a", "b"})}
		wanted.Wanted = s.rules(wanted.Namespace != "")
		own, _ := resolver.RulesFor(ctx, &user.DefaultInfo{Name: wanted.User, Groups: wanted.Groups}, wanted.Namespace)
		_, wanted.Missing = covers.Covers(own, wanted.Wanted)
		out.Grants = append(out.Grants, wanted)
	}
	return out
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	seed := flag.Int64("seed", 1, "of the random numbers")
	sets := flag.Int("sets", 10000, "how many lines")
	flag.Parse()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	random := source{rand.New(rand.NewSource(*seed))}
	for range *sets {
		check(encoder.Encode(random.answer(random.set())))
	}
	check(out.Flush())
}
