// PolicyFit against the formulas of rule P8, written down a second time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "schedd/core/member/cluster_spread.h"
#include "schedd/core/member/policy_fit.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

constexpr const char* kZones[] = {"a", "b", "c"};
constexpr const char* kCpu = "resources.kubernetes-fleet.io/available-cpu";
constexpr const char* kGpu = "resources.kubernetes-fleet.io/available-gpu";
constexpr const char* kCost = "cost";
constexpr const char* kNames[] = {kCpu, kGpu, kCost};
constexpr PropertyAmount kBillion = 1'000'000'000;

template <class T, std::size_t kSize>
const T& OneOf(Dice* dice, const T (&all)[kSize]) {
  return all[static_cast<std::size_t>(dice->Roll(0, std::int64_t{kSize} - 1))];
}

std::vector<ClusterView> RandomFleet(Dice* dice) {
  std::vector<ClusterView> fleet;
  const auto count = dice->Roll(1, 12);
  for (std::int64_t i = 0; i < count; ++i) {
    ClusterView& view = fleet.emplace_back();
    view.member.name = "m" + std::to_string(i);
    if (dice->Chance(80)) view.member.labels["zone"] = OneOf(dice, kZones);
    if (dice->Chance(90)) {
      view.member.allocatable = {{"cpu", 64'000}};
      view.free = {{"cpu", dice->Roll(-10, 6400) * 7}};
    }
    if (dice->Chance(50)) {
      view.member.allocatable.push_back({"gpu", 16});
      view.free.push_back({"gpu", dice->Roll(0, 16)});
    }
    if (dice->Chance(70)) view.member.properties.amounts[kCost] = dice->Roll(0, 99'999'999'999);
    if (dice->Chance(20)) view.member.taints = {{"gpu", "x", "NoSchedule"}};
  }
  return fleet;
}

PlacementPolicy RandomPolicy(Dice* dice) {
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  policy.score_over_feasible = dice->Chance(40);
  const auto terms = dice->Roll(0, 4);
  for (std::int64_t i = 0; i < terms; ++i) {
    PreferredClusterTerm& term = policy.preferred.emplace_back();
    term.weight = static_cast<std::int32_t>(dice->Roll(-100, 100));
    if (dice->Chance(40)) term.labels.match_labels["zone"] = OneOf(dice, kZones);
    if (dice->Chance(80)) term.sorter = PropertySorter{OneOf(dice, kNames), dice->Chance(50)};
  }
  const auto required = dice->Roll(0, 3);
  for (std::int64_t i = 0; i < required; ++i) {
    ClusterSelectorTerm& term = policy.required.emplace_back();
    if (dice->Chance(50)) term.labels.match_labels["zone"] = OneOf(dice, kZones);
    while (dice->Chance(50)) {
      const auto op = static_cast<PropertyOperator>(dice->Roll(0, 5));
      term.properties.push_back({OneOf(dice, kNames), op, dice->Roll(0, 40) * kBillion, {}});
    }
  }
  if (dice->Chance(50)) policy.tolerations = {{"gpu", "Exists", "", "", {}}};
  return policy;
}

// In billionths.
std::optional<PropertyAmount> ValueOf(const ClusterView& view, const std::string& name) {
  if (name == kCost) {
    const auto found = view.member.properties.amounts.find(name);
    if (found == view.member.properties.amounts.end()) return std::nullopt;
    return found->second;
  }
  for (const auto& [resource, amount] : view.free) {
    if (name != "resources.kubernetes-fleet.io/available-" + resource) continue;
    const PropertyAmount free = std::max<std::int64_t>(0, amount);
    return resource == "cpu" ? free * 1'000'000 : free * kBillion;
  }
  return std::nullopt;
}

bool HasZone(const ClusterView& view, const LabelSelector& selector) {
  const auto asked = selector.match_labels.find("zone");
  if (asked == selector.match_labels.end()) return true;
  const auto label = view.member.labels.find("zone");
  return label != view.member.labels.end() && label->second == asked->second;
}

bool Meets(const ClusterView& view, const ClusterSelectorTerm& term) {
  if (!HasZone(view, term.labels)) return false;
  return std::all_of(term.properties.begin(), term.properties.end(), [&](const auto& expression) {
    const auto value = ValueOf(view, expression.name);
    if (!value) return false;
    switch (expression.op) {
      case PropertyOperator::kGt:
        return *value > expression.amount;
      case PropertyOperator::kGe:
        return *value >= expression.amount;
      case PropertyOperator::kEq:
        return *value == expression.amount;
      case PropertyOperator::kNe:
        return *value != expression.amount;
      case PropertyOperator::kLt:
        return *value < expression.amount;
      default:
        return *value <= expression.amount;
    }
  });
}

std::int32_t Formula(const std::vector<ClusterView>& fleet, const PlacementPolicy& policy,
                     const std::vector<bool>& feasible, std::size_t member) {
  std::int32_t sum = 0;
  for (const auto& term : policy.preferred) {
    if (!HasZone(fleet[member], term.labels)) continue;
    if (!term.sorter) {
      sum += term.weight;
      continue;
    }
    std::vector<double> all;
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      if (policy.score_over_feasible && !feasible[i]) continue;
      const auto value = ValueOf(fleet[i], term.sorter->name);
      if (value) all.push_back(RealOf(*value));
    }
    const auto mine = ValueOf(fleet[member], term.sorter->name);
    if (!mine || all.empty() || (policy.score_over_feasible && !feasible[member])) continue;
    const double f = RealOf(*mine);
    const double min = *std::min_element(all.begin(), all.end());
    const double max = *std::max_element(all.begin(), all.end());
    if (min == max) continue;
    const double w = term.weight;
    sum += static_cast<std::int32_t>(std::round(term.sorter->descending
                                                    ? (f - min) / (max - min) * w
                                                    : (1.0 - (f - min) / (max - min)) * w));
  }
  return sum;
}

std::vector<bool> RandomFeasible(Dice* dice, std::size_t count) {
  std::vector<bool> feasible;
  for (std::size_t i = 0; i < count; ++i) feasible.push_back(dice->Chance(70));
  return feasible;
}

PlacementAsk Governed(const PlacementPolicy& policy) {
  PlacementAsk ask;
  auto placement = std::make_shared<Placement>();
  placement->ns = "ml";
  placement->name = "x";
  placement->policy = policy;
  ask.placement = std::move(placement);
  return ask;
}

RC_GTEST_PROP(PolicyFitProperty, Scores_AreTheFormulaToTheBit_AndTheirTermsAddUp,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const auto fleet = RandomFleet(&dice);
  const PlacementAsk ask = Governed(RandomPolicy(&dice));
  const auto feasible = RandomFeasible(&dice, fleet.size());
  const MemberRoom room(fleet);
  const PolicyFit fit(ask, room, nullptr);
  std::vector<MemberScore> scores;
  fit.Score(room, feasible, true, &scores);
  std::vector<MemberScore> again;
  PolicyFit(ask, room, nullptr).Score(room, feasible, false, &again);
  RC_ASSERT(scores.size() == fleet.size());
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    RC_ASSERT(scores[i].affinity == Formula(fleet, ask.placement->policy, feasible, i));
    RC_ASSERT(again[i].affinity == scores[i].affinity);
    std::int32_t sum = 0;
    for (const auto& term : scores[i].terms) {
      RC_ASSERT(std::abs(term.score) <= std::abs(term.weight));
      sum += term.score;
    }
    RC_ASSERT(sum == scores[i].affinity);
    RC_ASSERT(again[i].terms.empty());
  }
}

RC_GTEST_PROP(PolicyFitProperty, Filter_LetsThroughExactlyWhoMeetsATermAndWhoseTaintsAreTolerated,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const auto fleet = RandomFleet(&dice);
  const PlacementAsk ask = Governed(RandomPolicy(&dice));
  const PlacementPolicy& policy = ask.placement->policy;
  const MemberRoom room(fleet);
  const PolicyFit fit(ask, room, nullptr);
  const PolicyFit equal(ask, room, nullptr);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const bool meets =
        policy.required.empty() ||
        std::any_of(policy.required.begin(), policy.required.end(),
                    [&](const ClusterSelectorTerm& term) { return Meets(fleet[i], term); });
    const bool tolerated = fleet[i].member.taints.empty() || !policy.tolerations.empty();
    const auto refusal = fit.Filter(room, i);
    RC_ASSERT(refusal.has_value() == !(meets && tolerated));
    const auto same = equal.Filter(room, i);
    RC_ASSERT(same.has_value() == refusal.has_value());
    if (!refusal) continue;
    RC_ASSERT(std::string(refusal->filter) == (tolerated ? "ClusterAffinity" : "TaintToleration"));
    RC_ASSERT(!refusal->message.empty());
    RC_ASSERT(same->message == refusal->message);
  }
}

// KubeFleet's rule, from its documentation of the three cases: the skew of all domains.
bool BreaksSkewOfAll(const std::vector<std::int64_t>& jobs, std::size_t domain,
                     std::int32_t max_skew) {
  auto after = jobs;
  ++after[domain];
  const auto [least, most] = std::minmax_element(after.begin(), after.end());
  return *most - *least > max_skew;
}

RC_GTEST_PROP(SpreadProperty, PlacingWhereItIsAllowed_KeepsTheSkew_AndThereIsAlwaysSuchADomain,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const ClusterSpread asked{static_cast<std::int32_t>(dice.Roll(1, 3)), "zone", false};
  const auto domains = static_cast<std::size_t>(dice.Roll(2, 5));
  std::vector<std::string> members;
  std::vector<LabelMap> labels;
  for (std::size_t i = 0; i < domains; ++i) {
    members.push_back("m" + std::to_string(i));
    labels.push_back({{"zone", std::to_string(i)}});
  }
  SpreadRule rule(asked, members, [&](std::size_t i) -> const LabelMap& { return labels[i]; });
  std::vector<std::int64_t> jobs(domains);
  SpreadRule::MemberCounts counts;
  for (int step = 0; step < 30; ++step) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < domains; ++i) {
      RC_ASSERT(rule.Breaks(i) == BreaksSkewOfAll(jobs, i, asked.max_skew));
      if (!rule.Breaks(i)) open.push_back(i);
    }
    RC_ASSERT(!open.empty());
    const auto pick =
        open[static_cast<std::size_t>(dice.Roll(0, static_cast<std::int64_t>(open.size()) - 1))];
    const auto skew = [&] {
      const auto [least, most] = std::minmax_element(jobs.begin(), jobs.end());
      return *most - *least;
    };
    const auto before = skew();
    const auto change = rule.SkewChange(pick);
    ++jobs[pick];
    RC_ASSERT(skew() - before == change);
    counts[members[pick]] += 1;
    rule.Count(counts);
  }
}

}  // namespace
}  // namespace muster::core::testing
