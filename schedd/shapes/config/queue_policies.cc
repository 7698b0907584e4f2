// The policies of a ClusterQueue (rules A4, A30, A31, A35, A39, A42, A49, A57): preemption, flavor
// fungibility, admission checks, fair share, usage-based admission and concurrent admission; and
// the annotation that says what becomes of jobs on a lost member. The checks between fields are
// those of Kueue's webhook.
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/text/duration.h"

namespace muster::shapes {
namespace {

// Bounds of afterTimeout: an API server that restarts is back in less than a minute, and after a
// month the outcome of a job is of no use any more.
constexpr std::int64_t kLeastLossTimeoutMs = 60'000;
constexpr std::int64_t kLongestLossTimeoutMs = 30LL * 24 * 3'600'000;
constexpr double kLeastWeight = 1e-9;  // smaller weights cannot be told apart (KEP-1714)

// `old_word` is v1beta1's name of MayStopSearch.
FungibilityPolicy ReadFungibility(const Field& field, std::string_view old_word,
                                  FungibilityPolicy otherwise) {
  const auto text = field.OneOf({"MayStopSearch", "TryNextFlavor", old_word});
  if (!text) return otherwise;
  return *text == "TryNextFlavor" ? FungibilityPolicy::kTryNextFlavor
                                  : FungibilityPolicy::kMayStopSearch;
}

void ReadFlavorFungibility(const Field& fungibility, ClusterQueue* queue) {
  fungibility.OnlyMembers({"whenCanBorrow", "whenCanPreempt", "preference"});
  queue->when_can_borrow =
      ReadFungibility(fungibility["whenCanBorrow"], "Borrow", queue->when_can_borrow);
  queue->when_can_preempt =
      ReadFungibility(fungibility["whenCanPreempt"], "Preempt", queue->when_can_preempt);
  const Field preference = fungibility["preference"];
  const auto text = preference.OneOf({"BorrowingOverPreemption", "PreemptionOverBorrowing"});
  if (!text) return;
  if (*text == "PreemptionOverBorrowing")
    queue->preference = FungibilityPreference::kPreemptionOverBorrowing;
  if (queue->when_can_borrow != FungibilityPolicy::kTryNextFlavor ||
      queue->when_can_preempt != FungibilityPolicy::kTryNextFlavor) {
    preference.Fail("may only be set when whenCanBorrow and whenCanPreempt are TryNextFlavor");
  }
}

// One of the given words; absent it is Never, as in Kueue.
PreemptionPolicy ReadPolicy(const Field& field, std::initializer_list<std::string_view> words) {
  const auto text = field.OneOf(words);
  if (text == "LowerPriority") return PreemptionPolicy::kLowerPriority;
  if (text == "LowerOrNewerEqualPriority") return PreemptionPolicy::kLowerOrNewerEqualPriority;
  if (text == "Any") return PreemptionPolicy::kAny;
  return PreemptionPolicy::kNever;
}

QueuePreemption ReadPreemption(const Field& preemption) {
  QueuePreemption read;
  if (preemption.Object() == nullptr) return read;
  preemption.OnlyMembers({"reclaimWithinCohort", "borrowWithinCohort", "withinClusterQueue"});
  read.within_cluster_queue = ReadPolicy(preemption["withinClusterQueue"],
                                         {"Never", "LowerPriority", "LowerOrNewerEqualPriority"});
  const Field reclaim = preemption["reclaimWithinCohort"];
  read.reclaim_within_cohort = ReadPolicy(reclaim, {"Never", "LowerPriority", "Any"});
  const Field borrow = preemption["borrowWithinCohort"];
  if (borrow.Object() == nullptr) return read;
  borrow.OnlyMembers({"policy", "maxPriorityThreshold"});
  read.borrow_within_cohort = ReadPolicy(borrow["policy"], {"Never", "LowerPriority"});
  const auto threshold = borrow["maxPriorityThreshold"].Int(INT32_MIN, INT32_MAX);
  if (threshold) read.max_priority_threshold = static_cast<std::int32_t>(*threshold);
  if (read.reclaim_within_cohort == PreemptionPolicy::kNever &&
      read.borrow_within_cohort != PreemptionPolicy::kNever) {
    borrow.Fail("must be absent or Never when reclaimWithinCohort is Never");
  }
  return read;
}

bool HasFlavor(const ClusterQueue& queue, std::string_view name) {
  for (const auto& group : queue.resource_groups) {
    for (const auto& flavor : group.flavors) {
      if (flavor.flavor == name) return true;
    }
  }
  return false;
}

std::string ReadCheckName(const Field& field) {
  std::string name(field.StringOr(""));
  if (!IsDnsSubdomain(name)) field.Fail(kDnsSubdomainRule);
  return name;
}

AdmissionCheckRule ReadRule(const Field& field, const ClusterQueue& queue) {
  field.OnlyMembers({"name", "onFlavors"});
  AdmissionCheckRule rule;
  if (field["name"].Require()) rule.name = ReadCheckName(field["name"]);
  for (const auto& flavor : field["onFlavors"].Elements()) {
    const std::string_view name = flavor.StringOr("");
    if (!HasFlavor(queue, name)) flavor.Fail("names no flavor of this queue: " + Quoted(name));
    rule.on_flavors.emplace_back(name);
  }
  return rule;
}

// The admission checks: admissionChecks, which only v1beta1 has, is a list of names;
// admissionChecksStrategy, which both versions have, adds the flavors that a check is for. A queue
// may have one of the two.
void ReadChecks(const Field& spec, ClusterQueue* queue) {
  const Field names = spec["admissionChecks"];
  const Field strategy = spec["admissionChecksStrategy"];
  std::set<std::string> seen;
  for (const auto& item : names.Elements()) {
    queue->admission_checks.push_back({ReadCheckName(item), {}});
    if (!seen.insert(queue->admission_checks.back().name).second) item.Fail("must be unique");
  }
  strategy.OnlyMembers({"admissionChecks"});
  const Field rules = strategy["admissionChecks"];
  for (const auto& item : rules.Elements()) {
    queue->admission_checks.push_back(ReadRule(item, *queue));
    if (!seen.insert(queue->admission_checks.back().name).second)
      item["name"].Fail("must be unique");
  }
  if (!names.Elements().empty() && !rules.Elements().empty())
    names.Fail("and admissionChecksStrategy cannot both be set");
  if (queue->admission_checks.size() > limits::kAdmissionChecks) {
    (names.present() ? names : rules)
        .Fail("must have at most " + std::to_string(limits::kAdmissionChecks) + " entries");
  }
}

// concurrentAdmissionPolicy. It is only for queues with one resource group and few flavors, because
// every flavor becomes a variant of the job.
void ReadConcurrentAdmission(const Field& policy, ClusterQueue* queue) {
  if (policy.Object() == nullptr) return;
  policy.OnlyMembers({"migration"});
  ConcurrentAdmissionPolicy read;
  const Field migration = policy["migration"];
  if (migration.Require()) {
    migration.OnlyMembers({"mode", "constraints"});
    const Field mode = migration["mode"];
    if (mode.Require())
      read.migrate =
          mode.OneOf({"TryPreferredFlavors", "RetainFirstAdmission"}) == "TryPreferredFlavors";
    const Field constraints = migration["constraints"];
    constraints.OnlyMembers({"lastAcceptableFlavorName"});
    const Field last = constraints["lastAcceptableFlavorName"];
    read.last_acceptable_flavor = last.StringOr("");
    if (!read.last_acceptable_flavor.empty() && !HasFlavor(*queue, read.last_acceptable_flavor))
      last.Fail("names no flavor of this queue: " + Quoted(read.last_acceptable_flavor));
  }
  if (queue->strategy == QueueingStrategy::kStrictFifo)
    policy.Fail("is forbidden with queueingStrategy StrictFIFO");
  if (queue->resource_groups.size() > 1) policy.Fail("is forbidden with several resourceGroups");
  if (!queue->resource_groups.empty() &&
      queue->resource_groups[0].flavors.size() > limits::kConcurrentFlavors) {
    policy.Fail("is forbidden with more than " + std::to_string(limits::kConcurrentFlavors) +
                " flavors");
  }
  queue->concurrent_admission = std::move(read);
}

}  // namespace

double ReadFairWeight(const Field& fair_sharing) {
  fair_sharing.OnlyMembers({"weight"});
  const Field weight = fair_sharing["weight"];
  const auto value = weight.Real();
  if (!value) return 1;
  if (*value != 0 && *value <= kLeastWeight) weight.Fail("must be 0 or greater than 1e-9");
  return *value;
}

OnClusterLost ReadOnClusterLost(const Field& annotation) {
  constexpr std::string_view kAfterTimeout = "afterTimeout:";
  OnClusterLost read;
  const std::string_view text = annotation.StringOr("wait");
  if (text == "fail") {
    read.policy = ClusterLostPolicy::kFail;
  } else if (text == "afterFence") {
    read.policy = ClusterLostPolicy::kAfterFence;
  } else if (text.starts_with(kAfterTimeout)) {
    read.policy = ClusterLostPolicy::kAfterTimeout;
    const auto timeout_ms = ParseDurationMs(text.substr(kAfterTimeout.size()));
    if (!timeout_ms || *timeout_ms < kLeastLossTimeoutMs || *timeout_ms > kLongestLossTimeoutMs) {
      annotation.Fail("must name a duration between 1m and 30d, such as afterTimeout:15m");
      return read;
    }
    read.timeout_s = *timeout_ms / 1000;
  } else if (text != "wait") {
    annotation.Fail("must be wait, fail, afterFence or afterTimeout:DURATION");
  }
  return read;
}

void ReadQueuePolicies(const Field& spec, ClusterQueue* queue) {
  queue->preemption = ReadPreemption(spec["preemption"]);
  ReadFlavorFungibility(spec["flavorFungibility"], queue);
  queue->fair_weight = ReadFairWeight(spec["fairSharing"]);
  ReadChecks(spec, queue);
  const Field scope = spec["admissionScope"];
  scope.OnlyMembers({"admissionMode"});
  queue->usage_based =
      scope["admissionMode"].OneOf({"UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"}) ==
      "UsageBasedAdmissionFairSharing";
  ReadConcurrentAdmission(spec["concurrentAdmissionPolicy"], queue);
}

}  // namespace muster::shapes
