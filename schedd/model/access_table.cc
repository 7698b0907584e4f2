// Bindings are found by the subjects that they name and their namespace: two look-ups for each name
// of the asker. Both are looked up by one hash, because a number is compared faster than a name and
// most names that are asked for have no binding; bindings know the key of their role, and a role
// its rules, also those that it collects. The namespace is hashed once, and the rules of a role
// that several of the bindings name are looked at once. So a question allocates nothing.
//
// What aggregated ClusterRoles collect is computed when a ClusterRole changes: that is rare, and a
// question is not. A role that collects an aggregated one gets what that one collects; roles that
// collect each other get the rules of all of them.
#include "schedd/model/access_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace muster {
namespace {

std::uint64_t SubjectHash(AccessSubject::Kind kind, std::string_view name) {
  const std::uint64_t hash = std::hash<std::string_view>()(name);
  return kind == AccessSubject::Kind::kUser ? hash : ~hash;
}

std::uint64_t NamespaceHash(std::string_view ns) { return std::hash<std::string_view>()(ns); }

// Where the bindings of a subject in a namespace are, by both hashes; those of the whole cluster
// are at the subject's own hash.
std::uint64_t InNamespace(std::uint64_t subject, std::uint64_t ns) {
  // An odd factor, so that equal subjects and namespaces, swapped, are apart.
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  return (subject ^ ns) * kFactor;
}

std::uint64_t RoleHash(const std::pair<std::string, std::string>& key) {
  const std::hash<std::string_view> hash;
  return hash(key.first) * 31 + hash(key.second);
}

bool IsNamedBefore(std::string_view a, std::string_view b) { return a < b; }

}  // namespace

// --- roles

bool AccessTable::IsCollected(const Role& role) const {
  for (const std::string& name : aggregated_) {
    const Role* collector = FindRole("", name);
    if (collector == nullptr) continue;
    for (const LabelSelector& selector : *collector->aggregated) {
      if (Matches(selector, role.labels)) return true;
    }
  }
  return false;
}

std::vector<std::string> AccessTable::SelectedBy(const std::vector<LabelSelector>& selectors,
                                                 const std::string& self) const {
  std::vector<std::string> names;
  for (const LabelSelector& selector : selectors) {
    // ClusterRoles come first: their namespace is "".
    for (const auto& [key, entry] : roles_) {
      if (!key.first.empty()) break;
      if (key.second != self && Matches(selector, entry.role->labels)) names.push_back(key.second);
    }
  }
  return names;
}

void AccessTable::Collect(const std::string& name, std::vector<std::string>* seen,
                          std::vector<PolicyRule>* rules) const {
  if (std::find(seen->begin(), seen->end(), name) != seen->end()) return;
  seen->push_back(name);
  const Role* role = FindRole("", name);
  if (role->aggregated) {
    for (const std::string& part : SelectedBy(*role->aggregated, name)) Collect(part, seen, rules);
    return;
  }
  for (const PolicyRule& rule : role->rules) {
    if (std::find(rules->begin(), rules->end(), rule) == rules->end()) rules->push_back(rule);
  }
}

void AccessTable::NoteClusterRole(const Role* before, const Role* after) {
  const auto collects = [](const Role* role) { return role != nullptr && role->aggregated; };
  const auto collected = [&](const Role* role) { return role != nullptr && IsCollected(*role); };
  if (!collects(before) && !collects(after) && !collected(before) && !collected(after)) return;
  for (const std::string& name : aggregated_) {
    std::vector<std::string> seen;
    std::vector<PolicyRule> rules;
    Collect(name, &seen, &rules);
    SetRules(roles_.at({"", name}).role, std::move(rules));
  }
}

void AccessTable::SetRules(const std::shared_ptr<const Role>& role, std::vector<PolicyRule> rules) {
  const Key key(role->ns, role->name);
  const auto named = std::make_shared<const NamedRules>(NamedRules{key, RuleSet(std::move(rules))});
  roles_.insert_or_assign(key, {role, named});
  rules_.Put(
      RoleHash(key), [&](const NamedRulesPtr& one) { return one->role == key; }, named);
}

const RuleSet* AccessTable::RulesBoundBy(const Bound& bound) const {
  const NamedRulesPtr* found = rules_.Find(
      bound.role_hash, [&](const NamedRulesPtr& one) { return one->role == bound.role; });
  return found == nullptr ? nullptr : &(*found)->set;
}

void AccessTable::PutRole(Role role) {
  const Key key(role.ns, role.name);
  const auto found = roles_.find(key);
  const std::shared_ptr<const Role> before = found == roles_.end() ? nullptr : found->second.role;
  const auto after = std::make_shared<const Role>(std::move(role));
  SetRules(after, after->rules);
  if (!key.first.empty()) return;
  std::erase(aggregated_, key.second);
  if (after->aggregated) {
    aggregated_.insert(std::lower_bound(aggregated_.begin(), aggregated_.end(), key.second),
                       key.second);
  }
  NoteClusterRole(before.get(), after.get());
}

void AccessTable::RemoveRole(const std::string& ns, const std::string& name) {
  const auto found = roles_.find({ns, name});
  if (found == roles_.end()) return;
  const std::shared_ptr<const Role> before = found->second.role;
  roles_.erase({ns, name});
  rules_.Erase(RoleHash({ns, name}), [&](const NamedRulesPtr& one) {
    return one->role.first == ns && one->role.second == name;
  });
  if (!ns.empty()) return;
  std::erase(aggregated_, name);
  NoteClusterRole(before.get(), nullptr);
}

const Role* AccessTable::FindRole(const std::string& ns, const std::string& name) const {
  const auto found = roles_.find({ns, name});
  return found == roles_.end() ? nullptr : found->second.role.get();
}

bool AccessTable::HasRole(const std::string& ns, const std::string& name) const {
  return roles_.contains({ns, name});
}

std::vector<PolicyRule> AccessTable::RulesOfRole(const std::string& ns,
                                                 const std::string& name) const {
  const auto found = roles_.find({ns, name});
  return found == roles_.end() ? std::vector<PolicyRule>() : found->second.rules->set.rules();
}

// --- bindings

void AccessTable::Enter(const AccessSubject& subject, const BoundPtr& bound, bool add) {
  const std::string& ns = bound->binding.ns;
  const std::uint64_t in_cluster = SubjectHash(subject.kind, subject.name);
  const std::uint64_t hash = ns.empty() ? in_cluster : InNamespace(in_cluster, NamespaceHash(ns));
  const auto is_entry = [&](const SubjectPtr& one) {
    return one->subject == subject && one->ns == ns;
  };
  const SubjectPtr* old = by_subject_.Find(hash, is_entry);
  BoundList list = old == nullptr ? BoundList() : (*old)->bindings;
  const std::string& name = bound->binding.name;
  std::erase_if(list, [&](const BoundPtr& one) { return one->binding.name == name; });
  if (add) {
    const auto place =
        std::lower_bound(list.begin(), list.end(), name, [](const BoundPtr& one, const auto& text) {
          return IsNamedBefore(one->binding.name, text);
        });
    list.insert(place, bound);
  }
  if (list.empty()) {
    by_subject_.Erase(hash, is_entry);
  } else {
    by_subject_.Put(
        hash, is_entry,
        std::make_shared<const SubjectEntry>(SubjectEntry{subject, ns, std::move(list)}));
  }
}

// A subject that a binding names twice is entered once.
void AccessTable::EnterAll(const BoundPtr& bound, bool add) {
  for (const AccessSubject& subject : bound->binding.subjects) Enter(subject, bound, add);
}

void AccessTable::PutBinding(RoleBinding binding) {
  RemoveBinding(binding.ns, binding.name);
  const Key key(binding.ns, binding.name);
  const Key role(binding.cluster_role ? std::string() : binding.ns, binding.role);
  const auto bound = std::make_shared<const Bound>(Bound{std::move(binding), role, RoleHash(role)});
  bindings_.insert_or_assign(key, bound);
  EnterAll(bound, true);
}

void AccessTable::RemoveBinding(const std::string& ns, const std::string& name) {
  const auto found = bindings_.find({ns, name});
  if (found == bindings_.end()) return;
  const BoundPtr bound = found->second;
  bindings_.erase({ns, name});
  EnterAll(bound, false);
}

const RoleBinding* AccessTable::FindBinding(const std::string& ns, const std::string& name) const {
  const auto found = bindings_.find({ns, name});
  return found == bindings_.end() ? nullptr : &found->second->binding;
}

// --- tokens

void AccessTable::PutToken(AccessToken token) {
  const std::string name = token.name;
  tokens_.insert_or_assign(name, std::make_shared<const AccessToken>(std::move(token)));
}

void AccessTable::RemoveToken(const std::string& name) { tokens_.erase(name); }

const AccessToken* AccessTable::FindToken(const std::string& name) const {
  const auto found = tokens_.find(name);
  return found == tokens_.end() ? nullptr : found->second.get();
}

// --- questions

template <class Visit>
bool AccessTable::AnyBindings(std::string_view user, std::span<const std::string> groups,
                              std::string_view ns, const Visit& visit) const {
  const auto any_in = [&](std::uint64_t hash, AccessSubject::Kind kind, std::string_view name,
                          std::string_view in) {
    const SubjectPtr* found = by_subject_.Find(hash, [&](const SubjectPtr& one) {
      return one->subject.kind == kind && one->subject.name == name && one->ns == in;
    });
    return found != nullptr && visit((*found)->bindings);
  };
  // Of all subjects of the question.
  const std::uint64_t ns_hash = NamespaceHash(ns);
  const auto any_of_subject = [&](AccessSubject::Kind kind, std::string_view name) {
    const std::uint64_t hash = SubjectHash(kind, name);
    return any_in(hash, kind, name, "") ||
           (!ns.empty() && any_in(InNamespace(hash, ns_hash), kind, name, ns));
  };
  if (any_of_subject(AccessSubject::Kind::kUser, user)) return true;
  return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
    return any_of_subject(AccessSubject::Kind::kGroup, group);
  });
}

bool AccessTable::Allows(const AccessQuestion& question) const {
  const std::uint64_t hash = RuleSet::ResourceHash(question);
  // Bindings of roles that do not grant it. A user and its groups often have the same role, whose
  // rules are then looked at once.
  std::array<const Bound*, 8> denied{};
  std::size_t count = 0;
  const auto grants = [&](const BoundPtr& bound) {
    const bool known = std::any_of(denied.begin(), denied.begin() + count, [&](const Bound* one) {
      return one->role_hash == bound->role_hash && one->role == bound->role;
    });
    if (known) return false;
    const RuleSet* rules = RulesBoundBy(*bound);
    if (rules != nullptr && rules->Grants(question, hash)) return true;
    if (count < denied.size()) denied[count++] = bound.get();
    return false;
  };
  return AnyBindings(question.user, question.groups, question.ns, [&](const BoundList& list) {
    return std::any_of(list.begin(), list.end(), grants);
  });
}

std::vector<PolicyRule> AccessTable::RulesOf(std::string_view user,
                                             std::span<const std::string> groups,
                                             std::string_view ns) const {
  std::map<Key, BoundPtr> bindings;
  AnyBindings(user, groups, ns, [&](const BoundList& list) {
    for (const BoundPtr& bound : list)
      bindings.try_emplace(Key(bound->binding.ns, bound->binding.name), bound);
    return false;
  });
  std::vector<PolicyRule> rules;
  for (const auto& [key, bound] : bindings) {
    const RuleSet* more = RulesBoundBy(*bound);
    if (more != nullptr) rules.insert(rules.end(), more->rules().begin(), more->rules().end());
  }
  return rules;
}

std::vector<PolicyRule> AccessTable::Uncovered(std::string_view user,
                                               std::span<const std::string> groups,
                                               std::string_view ns,
                                               std::span<const PolicyRule> wanted) const {
  return UncoveredBy(RulesOf(user, groups, ns), wanted);
}

}  // namespace muster
