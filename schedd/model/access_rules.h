// What one rule of RBAC grants, and whether rules cover others. Equal to Kubernetes'
// pkg/apis/rbac/v1/evaluation_helpers.go and component-helpers/auth/rbac/validation (rules U1, U2
// and U7).
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedd/model/access.h"

namespace muster {

/// May this user do this? A question about a path has `path` set and group, resource, subresource,
/// ns and name empty.
struct AccessQuestion {
  std::string_view user;
  std::span<const std::string> groups;
  std::string_view verb;
  std::string_view group, resource, subresource;
  std::string_view ns;    // "": of the whole cluster
  std::string_view name;  // "": no particular object, which no rule with resource_names grants
  std::string_view path;
};

/// True if the rule grants what is asked; user, groups and namespace are not looked at.
bool Grants(const PolicyRule& rule, const AccessQuestion& question);

/// Rules, and an index of them by the resources that they name: most rules of a role are about
/// other resources than a question is.
class RuleSet {
 public:
  explicit RuleSet(std::vector<PolicyRule> rules);

  const std::vector<PolicyRule>& rules() const { return rules_; }
  /// True if one of the rules grants what is asked. `resource_hash` is that of the question.
  bool Grants(const AccessQuestion& question, std::uint64_t resource_hash) const;
  /// Of "RESOURCE" or "RESOURCE/SUBRESOURCE".
  static std::uint64_t ResourceHash(const AccessQuestion& question);

 private:
  std::vector<PolicyRule> rules_;
  // The hash of a resource that a rule names, and the rule's place; sorted.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_resource_;
  std::vector<std::uint32_t> unnamed_;  // with "*" or "*/SUBRESOURCE", or about paths
};

/// Those of the smallest parts of `wanted` (one verb and one resource, name or path each) that no
/// single rule of `own` covers; in their order.
std::vector<PolicyRule> UncoveredBy(std::span<const PolicyRule> own,
                                    std::span<const PolicyRule> wanted);

/// The rules as Kubernetes writes them into a refusal, one a line and in the order of the text:
/// `{APIGroups:["batch"], Resources:["jobs"], Verbs:["get" "list"]}`. Verbs of the same resource
/// stand together.
std::string DescribeRules(std::span<const PolicyRule> rules);

}  // namespace muster
