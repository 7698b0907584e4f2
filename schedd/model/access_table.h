// AccessTable: all roles, bindings and tokens at one version, and the answers to questions about
// them. The rules are Kubernetes' RBAC (k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac and
// pkg/registry/rbac/validation): rules only grant, and a question is answered with yes if one rule
// of one binding of the user or of one of its groups grants it (rules U1 to U3).
//
// Copies share their entries, so an edited copy of a large table is cheap. As thread-safe as an
// int: any thread may ask a published table. A question costs a look-up per group of the asker in
// an index by subject, whatever the number of bindings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedd/base/shared_hash.h"
#include "schedd/base/shared_map.h"
#include "schedd/model/access.h"
#include "schedd/model/access_rules.h"

namespace muster {

class AccessTable {
 public:
  /// Each replaces what has the same namespace and name. An edit of a ClusterRole updates the roles
  /// that collect it.
  void PutRole(Role role);
  void RemoveRole(const std::string& ns, const std::string& name);
  void PutBinding(RoleBinding binding);
  void RemoveBinding(const std::string& ns, const std::string& name);
  void PutToken(AccessToken token);
  void RemoveToken(const std::string& name);

  /// Membership in system:masters is not looked at here.
  bool Allows(const AccessQuestion& question) const;
  /// Every rule that the user has in a namespace, those of the whole cluster included; with "" only
  /// the latter. The order is that of the bindings' names, those of the cluster first.
  std::vector<PolicyRule> RulesOf(std::string_view user, std::span<const std::string> groups,
                                  std::string_view ns) const;
  /// Those of `wanted` that the user's own rules in `ns` do not cover: what it would grant without
  /// having it (Kubernetes' escalation check, validation.Covers). Each has one verb and one
  /// resource, name or path.
  std::vector<PolicyRule> Uncovered(std::string_view user, std::span<const std::string> groups,
                                    std::string_view ns, std::span<const PolicyRule> wanted) const;
  /// The rules of a role, for an aggregated ClusterRole those that it collects; empty if there is
  /// no such role.
  std::vector<PolicyRule> RulesOfRole(const std::string& ns, const std::string& name) const;
  bool HasRole(const std::string& ns, const std::string& name) const;
  /// Each is null if there is none, and valid as long as this table is not edited.
  const Role* FindRole(const std::string& ns, const std::string& name) const;
  const RoleBinding* FindBinding(const std::string& ns, const std::string& name) const;
  const AccessToken* FindToken(const std::string& name) const;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  // The rules that a role has: its own, or what it collects.
  struct NamedRules {
    Key role;
    RuleSet set;
  };
  using NamedRulesPtr = std::shared_ptr<const NamedRules>;
  struct RoleEntry {
    std::shared_ptr<const Role> role;
    NamedRulesPtr rules;
  };
  struct Bound {
    RoleBinding binding;
    Key role;  // in roles_
    std::uint64_t role_hash = 0;
  };
  using BoundPtr = std::shared_ptr<const Bound>;
  using BoundList = std::vector<BoundPtr>;  // by name
  // All bindings of one namespace, or with "" of the whole cluster, that name one user or group.
  struct SubjectEntry {
    AccessSubject subject;
    std::string ns;
    BoundList bindings;
  };
  using SubjectPtr = std::shared_ptr<const SubjectEntry>;

  // Calls `visit(const BoundList&)` with the bindings of the user and of each of its groups, those
  // of the cluster and those in `ns`, until it returns true. True if it did.
  template <class Visit>
  bool AnyBindings(std::string_view user, std::span<const std::string> groups, std::string_view ns,
                   const Visit& visit) const;
  // Enters a binding for one of its subjects, or takes it out.
  void Enter(const AccessSubject& subject, const BoundPtr& bound, bool add);
  void EnterAll(const BoundPtr& bound, bool add);
  // The ClusterRoles that one of the selectors matches, without `self`; by selector and name.
  std::vector<std::string> SelectedBy(const std::vector<LabelSelector>& selectors,
                                      const std::string& self) const;
  void Collect(const std::string& name, std::vector<std::string>* seen,
               std::vector<PolicyRule>* rules) const;
  // Computes again what the aggregated roles collect, if this role, before or after an edit, is one
  // of them or is collected by one.
  void NoteClusterRole(const Role* before, const Role* after);
  void SetRules(const std::shared_ptr<const Role>& role, std::vector<PolicyRule> rules);
  // Null if there is no such role.
  const RuleSet* RulesBoundBy(const Bound& bound) const;
  bool IsCollected(const Role& role) const;

  SharedMap<Key, RoleEntry> roles_;
  SharedHash<NamedRulesPtr> rules_;      // those of roles_, for questions
  std::vector<std::string> aggregated_;  // the names of ClusterRoles that collect others; sorted
  SharedMap<Key, BoundPtr> bindings_;
  SharedHash<SubjectPtr> by_subject_;  // by subject and namespace
  SharedMap<std::string, std::shared_ptr<const AccessToken>> tokens_;
};

}  // namespace muster
