// PolicyFit: filters and scores of one placement (rules P7 to P11, P16).
//
// Compilation resolves once per demand what does not change while a cycle decides: which members a
// label selector matches, groups, data sets, spread domains. What changes with each decision is
// read at every call: free amounts, and the counts of spread constraints, to which the cycle adds
// the jobs that it places.
//
// Filters run in the order of rule P11: names and pins, taints, required terms, data sets, avoided
// members, spread, cluster groups. Scores are KubeFleet's: a preferred term gives its weight, or
// the share of the weight at which the member's property lies between the extremes of all members;
// data sets add up to 100 points.
#include "schedd/core/member/policy_fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "schedd/base/quantity.h"
#include "schedd/core/member/cluster_properties.h"
#include "schedd/core/member/cluster_selector.h"
#include "schedd/core/member/cluster_spread.h"
#include "schedd/core/quota/flavor_match.h"

namespace muster::core {
namespace {

// A message lists at most this many names.
constexpr std::size_t kNamesInMessage = 5;
// The score that ScheduleAnyway takes off for a domain that is too full (rule P9).
constexpr std::int32_t kBrokenSpread = 1000;
constexpr std::int32_t kDatasetWeight = 100;
constexpr const char* kDatasetTerm = "muster.io/datasets";

// One preferred term, with the members that its labels match.
struct Preference {
  const PreferredClusterTerm* asked;
  std::optional<ClusterProperty> property;
  std::vector<bool> matches;  // by member
};

// The first few names, and how many more.
std::string NamesText(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesInMessage); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kNamesInMessage) return text;
  return text + " and " + std::to_string(names.size() - kNamesInMessage) + " more";
}

// "gpu=a100:NoSchedule", as kubectl writes a taint.
std::string ShortTaint(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

// The formula of rule P8 in double arithmetic, as KubeFleet computes it: nearest integer, halves
// away from zero.
std::int32_t SorterScore(double value, double least, double most,
                         const PreferredClusterTerm& term) {
  if (least == most) return 0;
  const double share = (value - least) / (most - least);
  const double weight = term.weight;
  return static_cast<std::int32_t>(
      std::round(term.sorter->descending ? share * weight : (1 - share) * weight));
}

// The term as explain shows it: its selector and the property that it sorts by.
std::string TermText(const PreferredClusterTerm& term) {
  std::string text = SelectorText(term.labels);
  if (!term.sorter) return text.empty() ? "every member cluster" : text;
  if (!text.empty()) text += ", ";
  return text + term.sorter->name + (term.sorter->descending ? " Descending" : " Ascending");
}

}  // namespace

// The compiled policy; the By functions are the filters, the Score functions the terms of a score.
struct PolicyFit::CompiledPolicy {
  CompiledPolicy(const PlacementAsk& ask, const MemberRoom& room, const PlacedCounts* placed);
  void CompileGroups();
  void CompileDatasets();
  void CountPlaced();

  bool pinned() const { return ask.own != nullptr && !ask.own->cluster.empty(); }
  std::optional<FilterRefusal> ByPlacement(std::size_t member) const;
  std::optional<FilterRefusal> ByTaints(std::size_t member) const;
  std::optional<FilterRefusal> ByAffinity(const MemberRoom& room, std::size_t member) const;
  std::optional<FilterRefusal> ByDatasets(std::size_t member) const;
  std::optional<FilterRefusal> ByAvoidance(std::size_t member) const;
  std::optional<FilterRefusal> BySpread(std::size_t member);
  std::optional<FilterRefusal> ByGroup(std::size_t member) const;

  void ScorePreference(const Preference& preference, const MemberRoom& room,
                       const std::vector<bool>& feasible, bool want_terms,
                       std::vector<MemberScore>* scores) const;
  void ScoreSpread(bool want_terms, std::vector<MemberScore>* scores);
  void ScoreDatasets(bool want_terms, std::vector<MemberScore>* scores) const;

  const PlacementAsk& ask;
  const PlacementPolicy any{};  // the policy if no placement governs the job
  const PlacementPolicy& policy;
  std::string mention;  // "ResourcePlacement ml/x"
  const PlacedCounts* placed;
  std::vector<const MemberCluster*> members;
  MemberLabels labels;
  std::vector<RequiredTerm> required;
  std::vector<Preference> preferred;
  std::vector<SpreadRule> spread;
  std::set<std::string_view> fixed;      // the members that PickFixed names
  bool pin_is_there = false;             // the member that the job is pinned to exists
  std::vector<std::size_t> group_of;     // by member; the number of groups: in none
  std::vector<std::int64_t> opens_at;    // by group, in seconds of waiting
  std::set<std::string_view> wanted;     // data sets of the job
  std::vector<std::size_t> datasets_at;  // by member: the number of wanted data sets there
};

PolicyFit::CompiledPolicy::CompiledPolicy(const PlacementAsk& asked, const MemberRoom& room,
                                          const PlacedCounts* counts)
    : ask(asked),
      policy(asked.placement == nullptr ? any : asked.placement->policy),
      mention(asked.placement == nullptr ? "" : MentionOf(*asked.placement)),
      placed(counts),
      labels(room, policy) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < room.size(); ++i) {
    members.push_back(room.member(i).facts);
    names.push_back(members.back()->name);
    if (pinned() && members.back()->name == ask.own->cluster) pin_is_there = true;
  }
  fixed.insert(policy.cluster_names.begin(), policy.cluster_names.end());
  for (const ClusterSelectorTerm& term : policy.required) required.emplace_back(term, room);
  for (const PreferredClusterTerm& term : policy.preferred) {
    if (term.weight == 0) continue;
    Preference& preference = preferred.emplace_back();
    preference.asked = &term;
    if (term.sorter) preference.property.emplace(term.sorter->name, room);
    for (std::size_t i = 0; i < members.size(); ++i) {
      preference.matches.push_back(Matches(term.labels, labels.of(i)));
    }
  }
  // A cordoned member is in no domain, because the other domains would wait for it for ever. A
  // member that does not answer stays in its domain: after a restart of the daemon, all jobs would
  // otherwise go to the first member that answers.
  static const LabelMap kClosed;
  for (const ClusterSpread& constraint : policy.spread) {
    spread.emplace_back(constraint, names, [&](std::size_t i) -> const LabelMap& {
      return members[i]->cordoned ? kClosed : labels.of(i);
    });
  }
  CompileGroups();
  CompileDatasets();
}

// Each member belongs to the first group that takes it. A group opens when the waits of all groups
// before it are over.
void PolicyFit::CompiledPolicy::CompileGroups() {
  const auto& groups = policy.groups;
  std::int64_t opens = 0;
  for (const ClusterGroup& group : groups) {
    opens_at.push_back(opens);
    opens = SaturatingAdd(opens, group.wait_s);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto takes = [&](const ClusterGroup& group) {
      if (group.labels) return Matches(*group.labels, labels.of(i));
      return std::find(group.clusters.begin(), group.clusters.end(), members[i]->name) !=
             group.clusters.end();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), takes);
    group_of.push_back(static_cast<std::size_t>(group - groups.begin()));
  }
}

// Counts the data sets that the job wants on each member.
void PolicyFit::CompiledPolicy::CompileDatasets() {
  datasets_at.resize(members.size());
  if (ask.own == nullptr || ask.own->datasets.empty()) return;
  wanted.insert(ask.own->datasets.begin(), ask.own->datasets.end());
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::set<std::string_view> held;
    for (const std::string& dataset : members[i]->datasets) {
      if (wanted.contains(dataset)) held.insert(dataset);
    }
    datasets_at[i] = held.size();
  }
}

// Passes the present counts to the spread rules: the cycle adds to them as it places jobs.
void PolicyFit::CompiledPolicy::CountPlaced() {
  static const SpreadRule::MemberCounts kNone;
  const SpreadRule::MemberCounts* counts = &kNone;
  if (placed != nullptr && ask.placement != nullptr) {
    const auto found = placed->find({ask.placement->ns, ask.placement->name});
    if (found != placed->end()) counts = &found->second;
  }
  for (SpreadRule& rule : spread) rule.Count(*counts);
}

// Names and pins. An obstacle refuses every member.
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByPlacement(std::size_t member) const {
  const auto refuse = [](std::string message) {
    return FilterRefusal{"Placement", std::move(message)};
  };
  if (!ask.obstacle.empty()) return refuse(ask.obstacle);
  if (policy.type == PlacementType::kPickN && policy.number_of_clusters == 0) {
    return refuse(mention + " picks no cluster: its numberOfClusters is 0");
  }
  if (pinned() && members[member]->name != ask.own->cluster) {
    return refuse("the job is pinned to member cluster " + ask.own->cluster +
                  (pin_is_there ? "" : ", which does not exist"));
  }
  if (ask.nodes != nullptr) {
    std::string why = NodeChoiceRefusal(*ask.nodes, *members[member]);
    if (!why.empty()) return FilterRefusal{"NodeChoice", std::move(why)};
  }
  if (policy.type == PlacementType::kPickFixed && !fixed.contains(members[member]->name)) {
    return refuse(mention + " names only " + NamesText(policy.cluster_names));
  }
  return std::nullopt;
}

// The tolerations of the placement decide, not those of the pods (rule P10).
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByTaints(std::size_t member) const {
  for (const Taint& taint : members[member]->taints) {
    if (!Repels(taint)) continue;
    const auto& all = policy.tolerations;
    const bool tolerated = std::any_of(all.begin(), all.end(), [&](const Toleration& toleration) {
      return Tolerates(toleration, taint);
    });
    if (tolerated) continue;
    return FilterRefusal{"TaintToleration", "has taint " + ShortTaint(taint) + ", which " +
                                                mention + " does not tolerate"};
  }
  return std::nullopt;
}

// One term must pass. The message is about the term of which the member misses the fewest parts.
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByAffinity(const MemberRoom& room,
                                                                   std::size_t member) const {
  if (required.empty()) return std::nullopt;
  for (const RequiredTerm& term : required) {
    if (term.Passes(labels.of(member), room, member)) return std::nullopt;
  }
  std::vector<std::string> nearest;
  for (const RequiredTerm& term : required) {
    auto misses = term.Misses(labels.of(member), room, member);
    if (nearest.empty() || misses.size() < nearest.size()) nearest = std::move(misses);
  }
  FilterRefusal refusal{"ClusterAffinity", ""};
  for (const std::string& miss : nearest) {
    refusal.message += (refusal.message.empty() ? "" : "; ") + miss;
  }
  if (required.size() > 1) {
    refusal.message += " (the nearest of " + std::to_string(required.size()) + " terms that " +
                       mention + " requires one of)";
  }
  return refusal;
}

// Only if the job requires its data sets; preferred ones score.
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByDatasets(std::size_t member) const {
  if (wanted.empty() || !ask.own->datasets_required) return std::nullopt;
  if (datasets_at[member] == wanted.size()) return std::nullopt;
  const auto& held = members[member]->datasets;
  std::vector<std::string> missing;
  for (const std::string& dataset : ask.own->datasets) {
    if (std::find(held.begin(), held.end(), dataset) == held.end()) missing.push_back(dataset);
  }
  return FilterRefusal{"Datasets", std::string("does not have data set") +
                                       (missing.size() > 1 ? "s " : " ") + NamesText(missing) +
                                       ", which the job requires"};
}

// Members on which an earlier attempt did not become ready (rule P16).
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByAvoidance(std::size_t member) const {
  for (const AvoidedCluster& avoided : ask.avoided) {
    if (avoided.cluster != members[member]->name) continue;
    return FilterRefusal{
        "AvoidedCluster",
        "an earlier attempt did not start there; avoided until " + FormatRfc3339(avoided.until)};
  }
  return std::nullopt;
}

// Only DoNotSchedule constraints turn members away.
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::BySpread(std::size_t member) {
  if (spread.empty()) return std::nullopt;
  CountPlaced();
  for (const SpreadRule& rule : spread) {
    if (rule.asked().schedule_anyway || !rule.Breaks(member)) continue;
    return FilterRefusal{"TopologySpreadConstraints", rule.Sentence(member)};
  }
  return std::nullopt;
}

// A group that is not open yet is refused for now, a member in no group for good.
std::optional<FilterRefusal> PolicyFit::CompiledPolicy::ByGroup(std::size_t member) const {
  if (policy.groups.empty()) return std::nullopt;
  const std::size_t group = group_of[member];
  if (group == policy.groups.size()) {
    return FilterRefusal{"ClusterGroup", "is in none of the cluster groups of " + mention};
  }
  if (opens_at[group] <= ask.waited_s) return std::nullopt;
  return FilterRefusal{"ClusterGroup", "group " + policy.groups[group].name + " is tried after " +
                                           std::to_string(opens_at[group]) + " s of waiting"};
}

// A member without the property scores 0, whatever the weight; all members score 0 if they have the
// same value.
void PolicyFit::CompiledPolicy::ScorePreference(const Preference& preference,
                                                const MemberRoom& room,
                                                const std::vector<bool>& feasible, bool want_terms,
                                                std::vector<MemberScore>* scores) const {
  const PreferredClusterTerm& term = *preference.asked;
  std::vector<std::optional<double>> values(members.size());
  std::optional<double> least, most;
  for (std::size_t i = 0; i < members.size() && term.sorter; ++i) {
    if (policy.score_over_feasible && (i >= feasible.size() || !feasible[i])) continue;
    const auto amount = preference.property->Amount(room, i);
    if (!amount) continue;
    values[i] = RealOf(*amount);
    least = std::min(least.value_or(*values[i]), *values[i]);
    most = std::max(most.value_or(*values[i]), *values[i]);
  }
  const std::string text = want_terms ? TermText(term) : "";
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::int32_t score = 0;
    if (preference.matches[i] && !term.sorter) score = term.weight;
    if (preference.matches[i] && values[i]) score = SorterScore(*values[i], *least, *most, term);
    (*scores)[i].affinity += score;
    if (want_terms) (*scores)[i].terms.push_back({text, term.weight, score});
  }
}

// Better members have the higher score, so a larger skew counts as a loss.
void PolicyFit::CompiledPolicy::ScoreSpread(bool want_terms, std::vector<MemberScore>* scores) {
  if (spread.empty()) return;
  CountPlaced();
  for (const SpreadRule& rule : spread) {
    const std::string text = want_terms ? "topology spread over " + rule.asked().topology_key : "";
    for (std::size_t i = 0; i < members.size(); ++i) {
      const bool broken = rule.asked().schedule_anyway && rule.Breaks(i);
      const std::int32_t score = broken ? -kBrokenSpread : -rule.SkewChange(i);
      (*scores)[i].spread += score;
      if (want_terms) (*scores)[i].terms.push_back({text, 0, score});
    }
  }
}

// The share of the wanted data sets that the member has, of 100 points.
void PolicyFit::CompiledPolicy::ScoreDatasets(bool want_terms,
                                              std::vector<MemberScore>* scores) const {
  if (wanted.empty() || ask.own->datasets_required) return;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double share = static_cast<double>(datasets_at[i]) / static_cast<double>(wanted.size());
    const auto score = static_cast<std::int32_t>(std::round(share * kDatasetWeight));
    (*scores)[i].affinity += score;
    if (want_terms) (*scores)[i].terms.push_back({kDatasetTerm, kDatasetWeight, score});
  }
}

PolicyFit::PolicyFit(const PlacementAsk& ask, const MemberRoom& room, const PlacedCounts* placed)
    : compiled_(std::make_unique<CompiledPolicy>(ask, room, placed)) {}

PolicyFit::~PolicyFit() = default;

std::optional<FilterRefusal> PolicyFit::Filter(const MemberRoom& room, std::size_t member) const {
  CompiledPolicy& compiled = *compiled_;
  if (auto refusal = compiled.ByPlacement(member)) return refusal;
  if (judges_taints()) {
    if (auto refusal = compiled.ByTaints(member)) return refusal;
  }
  if (auto refusal = compiled.ByAffinity(room, member)) return refusal;
  if (auto refusal = compiled.ByDatasets(member)) return refusal;
  if (auto refusal = compiled.ByAvoidance(member)) return refusal;
  if (auto refusal = compiled.BySpread(member)) return refusal;
  return compiled.ByGroup(member);
}

void PolicyFit::Score(const MemberRoom& room, const std::vector<bool>& feasible, bool want_terms,
                      std::vector<MemberScore>* scores) const {
  CompiledPolicy& compiled = *compiled_;
  scores->assign(compiled.members.size(), {});
  compiled.ScoreSpread(want_terms, scores);
  for (const Preference& preference : compiled.preferred) {
    compiled.ScorePreference(preference, room, feasible, want_terms, scores);
  }
  compiled.ScoreDatasets(want_terms, scores);
}

std::size_t PolicyFit::Group(std::size_t member) const { return compiled_->group_of[member]; }

bool PolicyFit::kubefleet_tie_break() const { return compiled_->policy.kubefleet_tie_break; }

bool PolicyFit::judges_taints() const {
  const bool governed = compiled_->ask.placement != nullptr;
  return governed && compiled_->policy.type != PlacementType::kPickFixed && !compiled_->pinned();
}

std::string PickedSentence(const std::string& cluster, const MemberScore& score) {
  return "Successfully scheduled resources for placement in \"" + cluster +
         "\" (affinity score: " + std::to_string(score.affinity) +
         ", topology spread score: " + std::to_string(score.spread) +
         "): picked by scheduling policy";
}

}  // namespace muster::core
