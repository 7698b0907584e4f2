// Required terms of a placement (rule P7): labels and property expressions of one term must all
// match.
//
// Few policies use the label with the member's name, so labels are copied and completed with it
// only for those that do.
#include "schedd/core/member/cluster_selector.h"

#include <algorithm>

namespace muster::core {
namespace {

// True if the selector uses the label with the member's name.
bool NamesMember(const LabelSelector& selector) {
  return selector.match_labels.contains(kMemberNameLabel) ||
         std::any_of(selector.match_expressions.begin(), selector.match_expressions.end(),
                     [](const Requirement& one) { return one.key == kMemberNameLabel; });
}

// True if any selector or spread constraint of the policy uses the label with the member's name.
bool NamesMember(const PlacementPolicy& policy) {
  const auto any = [](const auto& list, const auto& test) {
    return std::any_of(list.begin(), list.end(), test);
  };
  return any(policy.required, [](const auto& term) { return NamesMember(term.labels); }) ||
         any(policy.preferred, [](const auto& term) { return NamesMember(term.labels); }) ||
         any(policy.spread, [](const auto& one) { return one.topology_key == kMemberNameLabel; }) ||
         any(policy.groups,
             [](const auto& group) { return group.labels && NamesMember(*group.labels); });
}

std::string ValuesText(const Requirement& requirement) {
  std::string text;
  for (const std::string& value : requirement.values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

// The sentence about an expression that the labels do not meet.
std::string MissOf(const Requirement& requirement, const LabelMap& labels) {
  const auto found = labels.find(requirement.key);
  if (found == labels.end()) return "does not have label " + requirement.key;
  const std::string has = "has label " + requirement.key + "=" + found->second;
  if (requirement.op == "In") return has + ", must be one of " + ValuesText(requirement);
  if (requirement.op == "NotIn") return has + ", must not be " + ValuesText(requirement);
  return has + ", must not be there";
}

}  // namespace

MemberLabels::MemberLabels(const MemberRoom& room, const PlacementPolicy& policy) {
  const bool named = NamesMember(policy);
  for (std::size_t i = 0; i < room.size(); ++i) {
    const MemberCluster& facts = *room.member(i).facts;
    declared_.push_back(&facts.labels);
    if (named) named_.emplace_back(facts.labels)[kMemberNameLabel] = facts.name;
  }
}

RequiredTerm::RequiredTerm(const ClusterSelectorTerm& term, const MemberRoom& room) : term_(&term) {
  for (const PropertyExpression& expression : term.properties)
    tests_.emplace_back(expression, room);
}

bool RequiredTerm::Passes(const LabelMap& labels, const MemberRoom& room,
                          std::size_t member) const {
  return Matches(term_->labels, labels) &&
         std::all_of(tests_.begin(), tests_.end(),
                     [&](const PropertyTest& test) { return test.Passes(room, member); });
}

// Labels first, then expressions over labels, then properties, in the order of the term.
std::vector<std::string> RequiredTerm::Misses(const LabelMap& labels, const MemberRoom& room,
                                              std::size_t member) const {
  std::vector<std::string> misses;
  for (const auto& [key, value] : term_->labels.match_labels) {
    const auto found = labels.find(key);
    if (found != labels.end() && found->second == value) continue;
    misses.push_back("does not have label " + key + "=" + value +
                     (found == labels.end() ? "" : " but " + key + "=" + found->second));
  }
  for (const Requirement& requirement : term_->labels.match_expressions) {
    if (!Matches(requirement, labels)) misses.push_back(MissOf(requirement, labels));
  }
  for (const PropertyTest& test : tests_) {
    if (!test.Passes(room, member)) misses.push_back(test.Miss(room, member));
  }
  return misses;
}

std::string SelectorText(const LabelSelector& selector) {
  std::string text;
  for (const auto& [key, value] : selector.match_labels) {
    text += (text.empty() ? "" : ", ") + key + "=" + value;
  }
  for (const Requirement& requirement : selector.match_expressions) {
    text += (text.empty() ? "" : ", ") + requirement.key + " " + requirement.op;
    if (!requirement.values.empty()) text += " (" + ValuesText(requirement) + ")";
  }
  return text;
}

}  // namespace muster::core
