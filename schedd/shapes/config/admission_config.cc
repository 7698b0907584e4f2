// Reads the section `admission:` part by part, one function per key of the section. Every function
// goes on after a wrong value, so that one start of the daemon reports all of them. Keys and
// defaults are those of Kueue's Configuration API.
#include "schedd/shapes/config/admission_config.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_gates.h"
#include "schedd/shapes/parts/field.h"

namespace muster {
namespace {

using shapes::Field;

constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kDurationMaxS = 3650 * kDayS;

// Gates that AdmissionSettings has and nothing in this version carries out: no controller opens
// preemption gates, and slices of elastic jobs are not placed in a topology.
constexpr std::string_view kNotActedOn[] = {"MultiKueueOrchestratedPreemption",
                                            "ElasticJobsViaWorkloadSlicesWithTAS"};

// A duration in whole seconds, as Kueue's configuration writes it: "1h30m", "5m", "90s", "0s".
std::optional<std::int64_t> Seconds(const Field& field) {
  const auto text = field.String();
  if (!text) return std::nullopt;
  std::int64_t total = 0;
  const char* at = text->data();
  const char* end = at + text->size();
  bool good = at != end;
  while (good && at != end) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    const char unit = parsed.ptr == end ? ' ' : *parsed.ptr;
    const std::int64_t scale = unit == 'h' ? 3600 : unit == 'm' ? 60 : unit == 's' ? 1 : 0;
    good = parsed.ec == std::errc() && number >= 0 && number <= kDurationMaxS && scale != 0;
    total += good ? number * scale : 0;
    at = parsed.ptr + (good ? 1 : 0);
  }
  if (good && total <= kDurationMaxS) return total;
  field.Fail("must be a duration such as 30m or 1h30m, in whole seconds, at most ten years");
  return std::nullopt;
}

// fairSharing. Kueue takes one strategy, or both in one order; an absent list means both.
void ReadFairSharing(const Field& field, AdmissionSettings* settings) {
  if (!field.present()) return;
  field.OnlyMembers({"preemptionStrategies"});
  auto& strategies = settings->fair_sharing.emplace();
  for (const Field& one : field["preemptionStrategies"].Elements()) {
    const auto name = one.OneOf({"LessThanOrEqualToFinalShare", "LessThanInitialShare"});
    if (!name) continue;
    strategies.push_back(*name == "LessThanInitialShare"
                             ? FairStrategy::kLessThanInitialShare
                             : FairStrategy::kLessThanOrEqualToFinalShare);
  }
  const bool wrong_order =
      strategies.size() > 2 ||
      (strategies.size() == 2 && (strategies[0] != FairStrategy::kLessThanOrEqualToFinalShare ||
                                  strategies[1] != FairStrategy::kLessThanInitialShare));
  if (wrong_order) {
    field["preemptionStrategies"].Fail(
        "must be one strategy, or LessThanOrEqualToFinalShare followed by LessThanInitialShare");
  }
  if (strategies.empty())
    strategies = {FairStrategy::kLessThanOrEqualToFinalShare, FairStrategy::kLessThanInitialShare};
}

void ReadAdmissionFairSharing(const Field& field, AdmissionSettings* settings) {
  if (!field.present()) return;
  field.OnlyMembers({"usageHalfLifeTime", "usageSamplingInterval", "resourceWeights"});
  AdmissionFairSharing& rules = settings->admission_fair_sharing.emplace();
  rules.half_life_s = Seconds(field["usageHalfLifeTime"]).value_or(0);
  if (const auto interval = Seconds(field["usageSamplingInterval"])) {
    rules.sampling_interval_s = *interval;
    if (*interval == 0) field["usageSamplingInterval"].Fail("must be above 0");
  }
  for (const auto& [resource, weight] : field["resourceWeights"].Members()) {
    if (const auto value = weight.Real())
      rules.resource_weights.emplace_back(std::string(resource), *value);
  }
}

// waitForPodsReady. The section alone switches it on; `enable: false` switches it off.
void ReadPodsReady(const Field& field, WaitForPodsReady* rules) {
  if (!field.present()) return;
  field.OnlyMembers(
      {"enable", "timeout", "recoveryTimeout", "blockAdmission", "requeuingStrategy"});
  rules->enabled = field["enable"].BoolOr(true);
  if (const auto timeout = Seconds(field["timeout"])) {
    rules->timeout_s = *timeout;
    if (*timeout == 0) field["timeout"].Fail("must be above 0");
  }
  rules->recovery_timeout_s = Seconds(field["recoveryTimeout"]);
  rules->block_admission = field["blockAdmission"].BoolOr(false);
  const Field requeuing = field["requeuingStrategy"];
  requeuing.OnlyMembers(
      {"timestamp", "backoffBaseSeconds", "backoffMaxSeconds", "backoffLimitCount"});
  const auto timestamp = requeuing["timestamp"].OneOf({"Eviction", "Creation"});
  rules->requeue_by_eviction_time = timestamp.value_or("Eviction") == "Eviction";
  rules->backoff_base_s =
      requeuing["backoffBaseSeconds"].Int(0, kDayS).value_or(rules->backoff_base_s);
  rules->backoff_max_s =
      requeuing["backoffMaxSeconds"].Int(0, kDayS).value_or(rules->backoff_max_s);
  rules->backoff_limit = requeuing["backoffLimitCount"].Count(0);
}

// One entry of resources.transformations. Its outputs are checked here and kept as text.
void ReadTransformation(const Field& field, AdmissionSettings* settings) {
  field.OnlyMembers({"input", "strategy", "multiplyBy", "outputs"});
  ResourceTransformation made;
  if (field["input"].Require()) made.input = field["input"].StringOr("");
  made.replace = field["strategy"].OneOf({"Retain", "Replace"}).value_or("Retain") == "Replace";
  made.multiply_by = field["multiplyBy"].StringOr("");
  for (const auto& [resource, amount] : field["outputs"].Members()) {
    const json::value* value = amount.value();
    const auto text = value == nullptr ? std::nullopt : shapes::QuantityText(*value);
    if (!text || !ParseQuantity(std::string(resource), *text).ok()) {
      amount.Fail("must be a quantity");
      continue;
    }
    made.outputs.emplace_back(std::string(resource), *text);
  }
  for (const ResourceTransformation& other : settings->transformations) {
    if (other.input == made.input) field["input"].Fail("has a transformation already");
  }
  settings->transformations.push_back(std::move(made));
}

void ReadResources(const Field& field, AdmissionSettings* settings) {
  field.OnlyMembers({"excludeResourcePrefixes", "transformations", "quotaCheckStrategy"});
  for (const Field& prefix : field["excludeResourcePrefixes"].Elements())
    settings->excluded_resource_prefixes.emplace_back(prefix.StringOr(""));
  for (const Field& one : field["transformations"].Elements()) ReadTransformation(one, settings);
  const auto strategy = field["quotaCheckStrategy"].OneOf({"BlockUndeclared", "IgnoreUndeclared"});
  settings->ignore_undeclared = strategy.value_or("") == "IgnoreUndeclared";
}

void ReadGates(const Field& field, AdmissionSettings* settings) {
  for (const auto& [name, gate] : field.Members()) {
    bool* value = FindGate(settings, name);
    if (value == nullptr) {
      gate.Fail("no decision depends on a gate of that name");
      continue;
    }
    const auto wanted = gate.Bool();
    const bool acted_on =
        std::find(std::begin(kNotActedOn), std::end(kNotActedOn), name) == std::end(kNotActedOn);
    if (wanted.value_or(false) && !acted_on) gate.Fail("is not supported by this version");
    *value = wanted.value_or(*value);
  }
}

void ReadRetention(const Field& field, AdmissionSettings* settings) {
  field.OnlyMembers({"workloads"});
  const Field workloads = field["workloads"];
  workloads.OnlyMembers({"afterFinished", "afterDeactivatedByKueue"});
  settings->retain_finished_s = Seconds(workloads["afterFinished"]);
  settings->retain_deactivated_s = Seconds(workloads["afterDeactivatedByKueue"]);
}

}  // namespace

Result<AdmissionSettings> ReadAdmissionSettings(const json::value& section) {
  shapes::Problems problems;
  AdmissionSettings settings;
  const Field root(section, &problems);
  root.OnlyMembers({"fairSharing", "admissionFairSharing", "waitForPodsReady", "resources",
                    "objectRetentionPolicies", "featureGates"});
  ReadFairSharing(root["fairSharing"], &settings);
  ReadAdmissionFairSharing(root["admissionFairSharing"], &settings);
  ReadPodsReady(root["waitForPodsReady"], &settings.pods_ready);
  ReadResources(root["resources"], &settings);
  ReadRetention(root["objectRetentionPolicies"], &settings);
  ReadGates(root["featureGates"], &settings);
  if (!problems.empty()) return problems.ToError();
  return settings;
}

}  // namespace muster
