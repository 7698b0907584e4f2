// The access table after random edits, against the plain reading of the rules: go through every
// binding, every subject and every rule. The reading shares no code with the table (rules U1 to
// U3).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "schedd/model/access_table.h"

namespace muster {
namespace {

using Name = std::pair<std::string, std::string>;

// All objects as they were put.
struct PlainWorld {
  std::map<Name, Role> roles;
  std::map<Name, RoleBinding> bindings;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int Below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  std::string Of(const std::vector<std::string>& pool) {
    return pool[static_cast<std::size_t>(Below(static_cast<int>(pool.size())))];
  }
  std::vector<std::string> Some(const std::vector<std::string>& pool, int least) {
    std::vector<std::string> out;
    for (int n = least + Below(3); n > 0; --n) out.push_back(Of(pool));
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string> kVerbPool = {"get", "list", "create", "*"};
const std::vector<std::string> kGroupPool = {"", "batch", "*"};
const std::vector<std::string> kResourcePool = {"jobs", "pods", "jobs/log", "*/log", "jobs/*", "*"};
const std::vector<std::string> kPathPool = {"/a", "/a*", "/a/*", "*", "/b**"};
const std::vector<std::string> kNamePool = {"r0", "r1", "r2", "r3", "r4"};
const std::vector<std::string> kNamespacePool = {"", "x", "y"};
const std::vector<std::string> kPeople = {"ann", "bob", "all", "dev"};
const std::vector<std::string> kLabelPool = {"admin", "user"};

PolicyRule RandomRule(Random* random, bool namespaced) {
  PolicyRule rule;
  rule.verbs = random->Some(kVerbPool, 1);
  if (!namespaced && random->OneIn(4)) {
    rule.non_resource_urls = random->Some(kPathPool, 1);
    return rule;
  }
  rule.api_groups = random->Some(kGroupPool, 1);
  rule.resources = random->Some(kResourcePool, 1);
  if (random->OneIn(3)) rule.resource_names = random->Some({"one", "two"}, 1);
  return rule;
}

Role RandomRole(Random* random) {
  Role role;
  role.ns = random->Of(kNamespacePool);
  role.name = random->Of(kNamePool);
  for (const std::string& label : kLabelPool)
    if (random->OneIn(3)) role.labels[label] = "true";
  if (role.ns.empty() && random->OneIn(4)) {
    role.aggregated.emplace();
    for (const std::string& label : random->Some(kLabelPool, 1))
      role.aggregated->push_back(LabelSelector{{{label, "true"}}, {}});
    return role;
  }
  for (int n = random->Below(3); n > 0; --n)
    role.rules.push_back(RandomRule(random, !role.ns.empty()));
  return role;
}

RoleBinding RandomBinding(Random* random) {
  RoleBinding binding;
  binding.ns = random->Of(kNamespacePool);
  binding.name = random->Of(kNamePool);
  binding.cluster_role = binding.ns.empty() || random->OneIn(2);
  binding.role = random->Of(kNamePool);
  for (int n = random->Below(4); n > 0; --n) {
    binding.subjects.push_back(
        {random->OneIn(2) ? AccessSubject::Kind::kUser : AccessSubject::Kind::kGroup,
         random->Of(kPeople)});
  }
  return binding;
}

// --- the plain reading

bool PlainMatch(const std::vector<std::string>& list, const std::string& text) {
  return std::count(list.begin(), list.end(), "*") + std::count(list.begin(), list.end(), text) > 0;
}

struct PlainQuestion {
  std::string user;
  std::vector<std::string> groups;
  std::string verb, group, resource, subresource, ns, name, path;
};

bool PlainGrants(const PolicyRule& rule, const PlainQuestion& asked) {
  if (!PlainMatch(rule.verbs, asked.verb)) return false;
  if (!asked.path.empty()) {
    for (std::string path : rule.non_resource_urls) {
      if (path == asked.path) return true;
      if (path.back() != '*') continue;
      path.erase(path.find_last_not_of('*') + 1);
      if (asked.path.compare(0, path.size(), path) == 0) return true;
    }
    return false;
  }
  if (!PlainMatch(rule.api_groups, asked.group)) return false;
  const std::string whole =
      asked.resource + (asked.subresource.empty() ? "" : "/" + asked.subresource);
  const bool of_all =
      !asked.subresource.empty() &&
      std::count(rule.resources.begin(), rule.resources.end(), "*/" + asked.subresource) > 0;
  if (!PlainMatch(rule.resources, whole) && !of_all) return false;
  return rule.resource_names.empty() ||
         std::count(rule.resource_names.begin(), rule.resource_names.end(), asked.name) > 0;
}

// The roles whose rules a role has: itself, or what it collects, and what those collect.
std::set<Name> PlainSources(const PlainWorld& world, const Name& start) {
  std::set<Name> reached = {start}, sources;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Name& name : std::set<Name>(reached)) {
      const auto role = world.roles.find(name);
      if (role == world.roles.end()) continue;
      if (!role->second.aggregated) {
        sources.insert(name);
        continue;
      }
      for (const auto& [other, candidate] : world.roles) {
        if (!other.first.empty()) continue;
        for (const LabelSelector& selector : *role->second.aggregated) {
          const auto& [label, value] = *selector.match_labels.begin();
          if (candidate.labels.count(label) > 0) grown = reached.insert(other).second || grown;
        }
      }
    }
  }
  return sources;
}

bool PlainAllows(const PlainWorld& world, const PlainQuestion& asked) {
  for (const auto& [name, binding] : world.bindings) {
    if (!binding.ns.empty() && binding.ns != asked.ns) continue;
    bool named = false;
    for (const AccessSubject& subject : binding.subjects) {
      named =
          named || (subject.kind == AccessSubject::Kind::kUser
                        ? subject.name == asked.user
                        : std::count(asked.groups.begin(), asked.groups.end(), subject.name) > 0);
    }
    if (!named) continue;
    const Name role(binding.cluster_role ? "" : binding.ns, binding.role);
    for (const Name& source : PlainSources(world, role)) {
      for (const PolicyRule& rule : world.roles.at(source).rules)
        if (PlainGrants(rule, asked)) return true;
    }
  }
  return false;
}

// --- the property

PlainQuestion RandomQuestion(Random* random) {
  PlainQuestion asked;
  asked.user = random->Of(kPeople);
  asked.groups = random->Some(kPeople, 0);
  asked.verb = random->Of({"get", "list", "create"});
  if (random->OneIn(4)) {
    asked.path = random->Of({"/a", "/a/b", "/ab", "/b", "/c"});
    return asked;
  }
  asked.group = random->Of({"", "batch"});
  asked.resource = random->Of({"jobs", "pods"});
  asked.subresource = random->Of({"", "log"});
  asked.ns = random->Of({"", "x", "y", "z"});
  asked.name = random->Of({"", "one", "two"});
  return asked;
}

void EditBoth(Random* random, AccessTable* table, PlainWorld* world) {
  const Name name(random->Of(kNamespacePool), random->Of(kNamePool));
  switch (random->Below(6)) {
    case 0:
      table->RemoveRole(name.first, name.second);
      world->roles.erase(name);
      break;
    case 1:
      table->RemoveBinding(name.first, name.second);
      world->bindings.erase(name);
      break;
    case 2:
    case 3: {
      const Role role = RandomRole(random);
      table->PutRole(role);
      world->roles.insert_or_assign({role.ns, role.name}, role);
      break;
    }
    default: {
      const RoleBinding binding = RandomBinding(random);
      table->PutBinding(binding);
      world->bindings.insert_or_assign({binding.ns, binding.name}, binding);
    }
  }
}

AccessQuestion ViewOf(const PlainQuestion& asked) {
  return {asked.user,        asked.groups, asked.verb, asked.group, asked.resource,
          asked.subresource, asked.ns,     asked.name, asked.path};
}

RC_GTEST_PROP(AccessProperty, AfterAnyEdits_EveryAnswerIsThatOfThePlainReading,
              (std::uint64_t seed)) {
  Random random(seed);
  AccessTable table;
  PlainWorld world;
  for (int step = 0; step < 30; ++step) {
    const AccessTable before = table;
    EditBoth(&random, &table, &world);
    for (int n = 0; n < 6; ++n) {
      const PlainQuestion asked = RandomQuestion(&random);
      RC_ASSERT(table.Allows(ViewOf(asked)) == PlainAllows(world, asked));
    }
  }
}

// A user has what it is granted: whatever is not missing from its own rules is allowed to it.
RC_GTEST_PROP(AccessProperty, WhatIsCovered_IsAllowed, (std::uint64_t seed)) {
  Random random(seed);
  AccessTable table;
  PlainWorld world;
  for (int step = 0; step < 20; ++step) EditBoth(&random, &table, &world);
  for (int n = 0; n < 20; ++n) {
    const PlainQuestion asked = RandomQuestion(&random);
    PolicyRule wanted{{asked.verb}, {asked.group}, {asked.resource}, {}, {}};
    if (!asked.subresource.empty()) wanted.resources[0] += "/" + asked.subresource;
    if (!asked.name.empty()) wanted.resource_names = {asked.name};
    if (!asked.path.empty()) wanted = {{asked.verb}, {}, {}, {}, {asked.path}};
    const std::vector<PolicyRule> list = {wanted};
    const bool covered = table.Uncovered(asked.user, asked.groups, asked.ns, list).empty();
    // What is named "" no rule with names covers, and none grants.
    RC_ASSERT(covered == table.Allows(ViewOf(asked)));
  }
}

}  // namespace
}  // namespace muster
