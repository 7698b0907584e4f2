#include "schedd/core/flavor_plan.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor_match.h"

namespace muster::core {
namespace {

constexpr std::string_view kPods = "pods";

// Kueue visits resources in ascending 64-bit FNV-1a of their names (kueue.md, finding 6).
std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

bool Covers(const ResourceGroup& group, std::string_view resource) {
  const auto& covered = group.covered_resources;
  return std::find(covered.begin(), covered.end(), resource) != covered.end();
}

const ResourceGroup* GroupOf(const ClusterQueue& queue, std::string_view resource) {
  for (const auto& group : queue.resource_groups) {
    if (Covers(group, resource)) return &group;
  }
  return nullptr;
}

// What the pods of a set request together, in the order in which resources are visited.
std::vector<std::pair<std::string, std::int64_t>> RequestsOf(const ClusterQueue& queue,
                                                             const PodSet& pod_set) {
  std::vector<std::pair<std::string, std::int64_t>> requests;
  for (const auto& [resource, amount] : pod_set.requests) {
    if (resource != kPods) requests.emplace_back(resource, SaturatingMul(amount, pod_set.count));
  }
  if (GroupOf(queue, kPods) != nullptr) requests.emplace_back(kPods, pod_set.count);
  std::sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) {
    return std::make_pair(Fnv1a(a.first), a.first) < std::make_pair(Fnv1a(b.first), b.first);
  });
  return requests;
}

std::int64_t AssumedFor(const std::vector<Charge>& assumed, FlavorResourceIndex pair) {
  for (const auto& charge : assumed) {
    if (charge.pair == pair) return charge.amount;
  }
  return 0;
}

void Assume(std::vector<Charge>* assumed, FlavorResourceIndex pair, std::int64_t amount) {
  for (auto& charge : *assumed) {
    if (charge.pair != pair) continue;
    charge.amount = SaturatingAdd(charge.amount, amount);
    return;
  }
  assumed->push_back({pair, amount});
}

// Kueue's severity: what no flavor change can help is worse than what waiting can.
int Severity(Reason reason) {
  switch (reason) {
    case Reason::kNoMatchingFlavor:
      return 3;
    case Reason::kExceedsMaxQuota:
      return 2;
    case Reason::kWaitingForQuota:
      return 1;
    default:
      return 0;
  }
}

Reason Worse(Reason a, Reason b) { return Severity(a) >= Severity(b) ? a : b; }
Reason Milder(Reason a, Reason b) {
  if (a == Reason::kNone) return b;
  return Severity(a) <= Severity(b) ? a : b;
}

}  // namespace

// Collects, beside a walk, the reasons that it met (kueue.md 2.6 "NoFit reason", "Message").
class FlavorPlan::Recorder {
 public:
  Recorder(const FlavorPlan& plan, const Usage& usage, bool want_verdicts)
      : plan_(plan), usage_(usage), want_verdicts_(want_verdicts) {}

  void BeginPodSet(const std::string& name) {
    pod_set_ = name;
    sentences_.clear();
    reason_ = Reason::kNone;
  }
  void BeginGroup() {
    group_reason_ = Reason::kNone;
    group_start_ = sentences_.size();
  }
  void BeginOption() { option_reason_ = Reason::kNone; }
  void EndOption() { group_reason_ = Milder(group_reason_, option_reason_); }

  void Mismatch(const Option& option) {
    option_reason_ = Reason::kNoMatchingFlavor;
    sentences_.push_back(option.mismatch);
    if (want_verdicts_) {
      verdicts_.push_back({pod_set_, option.flavor, "", option_reason_, option.mismatch});
    }
  }

  void Judged(const Need& need, const Option& option, FlavorResourceIndex pair,
              std::int64_t assumed, Grade grade) {
    const std::int64_t wanted = SaturatingAdd(assumed, need.amount);
    const std::int64_t potential = usage_.Potential(plan_.queue_, pair);
    const std::int64_t available = usage_.Available(plan_.queue_, pair);
    Reason reason = Reason::kNone;
    if (grade != Grade::kFit) {
      const auto amount = [&](std::int64_t value) { return FormatQuantity(need.resource, value); };
      const bool never = wanted > potential || wanted == kUnlimited;
      reason = never ? Reason::kExceedsMaxQuota : Reason::kWaitingForQuota;
      sentences_.push_back(
          never ? "insufficient quota for " + need.resource + " in flavor " + option.flavor +
                      ", previously considered podsets requests (" + amount(assumed) +
                      ") + current podset request (" + amount(need.amount) +
                      ") > maximum capacity (" + amount(potential) + ")"
                : "insufficient unused quota for " + need.resource + " in flavor " + option.flavor +
                      ", " + amount(SaturatingSub(wanted, available)) + " more needed");
      option_reason_ = Worse(option_reason_, reason);
    }
    if (want_verdicts_) AddVerdict(need, option, pair, wanted, reason);
  }

  void EndGroup(bool fits) {
    if (fits) {
      sentences_.resize(group_start_);  // what a flavor lacked that was not needed in the end
    } else {
      reason_ = Worse(reason_, group_reason_);
    }
  }
  void Uncovered(const std::string& resource) {
    const std::string sentence = "resource " + resource + " unavailable in ClusterQueue";
    sentences_.push_back(sentence);
    reason_ = Reason::kNoMatchingFlavor;
    if (want_verdicts_) verdicts_.push_back({pod_set_, "", resource, reason_, sentence});
  }

  void EndPodSet(bool fits) {
    if (fits) return;
    std::sort(sentences_.begin(), sentences_.end());
    if (!result_.message.empty()) result_.message += "; ";
    result_.message += "couldn't assign flavors to pod set " + pod_set_ + ": ";
    for (std::size_t i = 0; i < sentences_.size(); ++i) {
      result_.message += (i == 0 ? "" : ", ") + sentences_[i];
    }
    result_.reason = Worse(result_.reason, reason_);
  }

  Misfit Take() {
    result_.verdicts = std::move(verdicts_);
    return std::move(result_);
  }

 private:
  void AddVerdict(const Need& need, const Option& option, FlavorResourceIndex pair,
                  std::int64_t wanted, Reason reason) {
    FlavorVerdict verdict{pod_set_, option.flavor, need.resource, reason, ""};
    verdict.requested = wanted;
    verdict.potential = usage_.Potential(plan_.queue_, pair);
    verdict.available = std::min(usage_.Available(plan_.queue_, pair), verdict.potential);
    verdict.used = SaturatingSub(verdict.potential, verdict.available);
    verdict.nominal =
        usage_.tree().node(plan_.queue_).quotas[static_cast<std::size_t>(pair)].nominal;
    const auto amount = [&](std::int64_t value) { return FormatQuantity(need.resource, value); };
    verdict.message = "needs " + amount(wanted) + " " + need.resource + "; " + plan_.spec_.name +
                      " can use " + amount(verdict.potential) + ", " + amount(verdict.used) +
                      " are used, " + amount(verdict.available) + " free";
    verdicts_.push_back(std::move(verdict));
  }

  const FlavorPlan& plan_;
  const Usage& usage_;
  const bool want_verdicts_;
  std::string pod_set_;
  std::vector<std::string> sentences_;
  std::size_t group_start_ = 0;
  Reason option_reason_ = Reason::kNone, group_reason_ = Reason::kNone, reason_ = Reason::kNone;
  std::vector<FlavorVerdict> verdicts_;
  Misfit result_;
};

FlavorPlan::FlavorPlan(const ConfigView& config, const QuotaTree& tree, const ClusterQueue& queue,
                       const PodSets& pod_sets)
    : spec_(queue), queue_(tree.ClusterQueueIndex(queue.name)) {
  tasks_.reserve(pod_sets.size());
  for (const auto& pod_set : pod_sets) tasks_.push_back(Compile(config, tree, queue, pod_set));
}

FlavorPlan::PodSetTask FlavorPlan::Compile(const ConfigView& config, const QuotaTree& tree,
                                           const ClusterQueue& queue, const PodSet& pod_set) const {
  PodSetTask task;
  task.pod_set = &pod_set;
  const auto requests = RequestsOf(queue, pod_set);
  std::vector<const ResourceGroup*> done;
  for (const auto& [resource, amount] : requests) {
    const ResourceGroup* group = GroupOf(queue, resource);
    if (group == nullptr) {
      if (amount == 0) continue;
      task.uncovered = resource;  // what comes after it is not looked at, as in Kueue
      break;
    }
    if (std::find(done.begin(), done.end(), group) != done.end()) continue;
    done.push_back(group);
    GroupTask& entry = task.groups.emplace_back();
    for (const auto& [name, total] : requests) {
      if (Covers(*group, name)) entry.needs.push_back({name, total});
    }
    const auto keys = LabelKeysOf(config, *group);
    for (const auto& flavor : group->flavors) {
      Option option{flavor.flavor,
                    FlavorMismatch(config, flavor.flavor, keys, pod_set.constraints.get()),
                    {}};
      for (const auto& need : entry.needs) {
        option.pairs.push_back(tree.PairIndex(flavor.flavor, need.resource));
        if (option.pairs.back() < 0 && option.mismatch.empty()) {
          option.mismatch = "flavor " + flavor.flavor + " has no quota for " + need.resource;
        }
      }
      entry.options.push_back(std::move(option));
    }
  }
  return task;
}

FlavorPlan::Scan FlavorPlan::Judge(const Usage& usage, FlavorResourceIndex pair,
                                   std::int64_t amount) const {
  if (usage.Fits(queue_, pair, amount)) {
    return {Grade::kFit, usage.BorrowingLevel(queue_, pair, amount), -1};
  }
  if (amount == kUnlimited || amount > usage.Potential(queue_, pair)) return {};
  const auto& quota = usage.tree().node(queue_).quotas[static_cast<std::size_t>(pair)];
  const bool own = quota.nominal >= amount || usage.EndsBelowRoot(queue_, pair, amount);
  return {own ? Grade::kNoCandidates : Grade::kNoFit, 0, -1};
}

// Tries the flavors of one resource group in order (kueue.md 2.6 "Stop here?").
FlavorPlan::Scan FlavorPlan::ScanGroup(const GroupTask& group, const Usage& usage,
                                       const std::vector<Charge>& assumed,
                                       Recorder* recorder) const {
  Scan best;
  for (std::size_t i = 0; i < group.options.size(); ++i) {
    const Option& option = group.options[i];
    if (recorder != nullptr) recorder->BeginOption();
    Scan scan{Grade::kFit, 0, static_cast<std::int16_t>(i)};
    if (!option.mismatch.empty()) {
      scan.grade = Grade::kNoFit;
      if (recorder != nullptr) recorder->Mismatch(option);
    }
    for (std::size_t n = 0; n < group.needs.size() && option.mismatch.empty(); ++n) {
      const FlavorResourceIndex pair = option.pairs[n];
      const std::int64_t before = AssumedFor(assumed, pair);
      const Scan one = Judge(usage, pair, SaturatingAdd(before, group.needs[n].amount));
      scan.grade = std::min(scan.grade, one.grade);
      scan.level = std::max(scan.level, one.level);
      if (recorder != nullptr) recorder->Judged(group.needs[n], option, pair, before, one.grade);
    }
    if (recorder != nullptr) recorder->EndOption();
    const bool better =
        scan.grade > best.grade ||
        (scan.grade == Grade::kFit && best.grade == Grade::kFit && scan.level < best.level);
    if (better) best = scan;
    const bool borrow_ok =
        scan.level == 0 || spec_.when_can_borrow == FungibilityPolicy::kMayStopSearch;
    if (scan.grade == Grade::kFit && borrow_ok) break;
  }
  return best;
}

// Decides the pod sets one after another, each seeing what the earlier ones assume. True if all
// fit.
bool FlavorPlan::Walk(const Usage& usage, std::vector<std::int16_t>* options,
                      std::vector<Charge>* assumed, std::int32_t* level, Recorder* recorder) const {
  options->clear();
  assumed->clear();
  *level = 0;
  bool all_fit = true;
  for (const auto& task : tasks_) {
    if (recorder != nullptr) recorder->BeginPodSet(task.pod_set->name);
    bool hopeless = false;
    bool fits = true;
    const std::size_t first = options->size();
    for (const auto& group : task.groups) {
      if (recorder != nullptr) recorder->BeginGroup();
      // Needs of one pod set in one group never share a pair, so `assumed` may still be the earlier
      // sets'.
      const Scan scan = ScanGroup(group, usage, *assumed, recorder);
      fits = fits && scan.grade == Grade::kFit;
      if (recorder != nullptr) recorder->EndGroup(scan.grade == Grade::kFit);
      options->push_back(scan.option);
      *level = std::max(*level, scan.level);
      hopeless = scan.grade == Grade::kNoFit;
      if (hopeless) break;
    }
    if (!hopeless && !task.uncovered.empty()) {
      hopeless = true;
      fits = false;
      if (recorder != nullptr) recorder->Uncovered(task.uncovered);
    }
    if (recorder != nullptr) recorder->EndPodSet(fits);
    all_fit = all_fit && fits;
    if (hopeless || (!all_fit && recorder == nullptr)) return false;
    for (std::size_t g = 0; g < task.groups.size(); ++g) {
      const auto& group = task.groups[g];
      const auto& option = group.options[static_cast<std::size_t>((*options)[first + g])];
      for (std::size_t n = 0; n < group.needs.size(); ++n) {
        Assume(assumed, option.pairs[n], group.needs[n].amount);
      }
    }
  }
  return all_fit;
}

const FlavorChoice* FlavorPlan::Choose(const Usage& usage, std::int32_t* level) {
  if (!Walk(usage, &options_, &assumed_, level, nullptr)) return nullptr;
  for (const auto& choice : choices_) {
    if (choice->options == options_) return choice.get();
  }
  choices_.push_back(MakeChoice());
  return choices_.back().get();
}

std::unique_ptr<FlavorChoice> FlavorPlan::MakeChoice() const {
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = spec_.name;
  std::size_t at = 0;
  for (const auto& task : tasks_) {
    auto& assignment = admission->pod_sets.emplace_back();
    assignment.name = task.pod_set->name;
    assignment.count = task.pod_set->count;
    for (const auto& group : task.groups) {
      const auto& option = group.options[static_cast<std::size_t>(options_[at++])];
      for (const auto& need : group.needs) {
        assignment.flavors[need.resource] = option.flavor;
        SetAmount(&assignment.usage, need.resource, need.amount);
      }
    }
  }
  auto choice = std::make_unique<FlavorChoice>();
  choice->options = options_;
  choice->admission = std::move(admission);
  choice->charges = assumed_;
  return choice;
}

Misfit FlavorPlan::Diagnose(const Usage& usage, bool want_verdicts) const {
  Recorder recorder(*this, usage, want_verdicts);
  std::vector<std::int16_t> options;
  std::vector<Charge> assumed;
  std::int32_t level = 0;
  Walk(usage, &options, &assumed, &level, &recorder);
  return recorder.Take();
}

}  // namespace muster::core
