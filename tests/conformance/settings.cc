// The manager configuration of a case.
#include <cstdlib>

#include "schedd/model/admission_gates.h"
#include "tests/conformance/world.h"

namespace muster::conformance {
std::int64_t SecondsOf(const std::string& text) {
  std::int64_t total_ms = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str() + at, &end);
    at = static_cast<std::size_t>(end - text.c_str());
    if (text.compare(at, 2, "ms") == 0) {
      total_ms += static_cast<std::int64_t>(number);
      at += 2;
    } else {
      const char unit = at < text.size() ? text[at] : 's';
      total_ms += static_cast<std::int64_t>(number * (unit == 'h'   ? 3'600'000
                                                      : unit == 'm' ? 60'000
                                                                    : 1'000));
      at += 1;
    }
  }
  return total_ms / 1000;
}

namespace {

void LoadFairSharing(const json::value& setting, AdmissionSettings* settings) {
  if (!BoolAt(setting, "enabled")) return;
  auto& strategies = settings->fair_sharing.emplace();
  for (const auto& item : ListAt(setting, "preemptionStrategies")) {
    strategies.push_back(item.is_string() && item.get_string() == "LessThanInitialShare"
                             ? FairStrategy::kLessThanInitialShare
                             : FairStrategy::kLessThanOrEqualToFinalShare);
  }
  if (strategies.empty())
    strategies = {FairStrategy::kLessThanOrEqualToFinalShare, FairStrategy::kLessThanInitialShare};
}

void LoadAdmissionFairSharing(const json::value& setting, AdmissionSettings* settings) {
  if (!setting.is_object() || !BoolAt(setting, "enabled", true)) return;
  auto& sharing = settings->admission_fair_sharing.emplace();
  sharing.half_life_s = SecondsOf(TextAt(setting, "usageHalfLifeTime"));
  if (const std::string every = TextAt(setting, "usageSamplingInterval"); !every.empty())
    sharing.sampling_interval_s = SecondsOf(every);
  if (const auto* weights = At(setting, "resourceWeights").if_object()) {
    for (const auto& weight : *weights)
      sharing.resource_weights.emplace_back(weight.key(), weight.value().to_number<double>());
  }
}

ResourceTransformation LoadTransformation(const json::value& setting) {
  ResourceTransformation transformation;
  transformation.input = TextAt(setting, "input");
  transformation.replace = TextAt(setting, "strategy") == "Replace";
  transformation.multiply_by = TextAt(setting, "multiplyBy");
  if (const auto* outputs = At(setting, "outputs").if_object()) {
    for (const auto& output : *outputs) {
      transformation.outputs.emplace_back(
          output.key(), std::string(std::string_view(output.value().as_string())));
    }
  }
  return transformation;
}

void LoadTransformations(const json::value& setting, AdmissionSettings* settings) {
  if (const auto* list = setting.if_array()) {
    for (const auto& item : *list) settings->transformations.push_back(LoadTransformation(item));
  }
  if (const auto* map = setting.if_object()) {
    for (const auto& item : *map)
      settings->transformations.push_back(LoadTransformation(item.value()));
  }
}

void LoadPodsReady(const json::value& settings_json, AdmissionSettings* settings) {
  const json::value& setting = At(settings_json, "waitForPodsReady");
  settings->pods_ready.enabled = BoolAt(setting, "enabled", true);
  settings->pods_ready.block_admission = BoolAt(setting, "blockAdmission");
  const json::value& timestamp = At(settings_json, "podsReadyRequeuingTimestamp");
  if (timestamp.is_string())
    settings->pods_ready.requeue_by_eviction_time = timestamp.get_string() == "Eviction";
}

}  // namespace

AdmissionSettings LoadSettings(const Case& test) {
  AdmissionSettings settings;
  if (const auto* gates = At(test.settings, "featureGates").if_object()) {
    for (const auto& gate : *gates) {
      // A gate that no decision looks at has no switch here.
      if (bool* value = FindGate(&settings, gate.key()); value != nullptr)
        *value = gate.value().as_bool();
    }
  }
  LoadFairSharing(At(test.settings, "fairSharing"), &settings);
  LoadAdmissionFairSharing(At(test.settings, "admissionFairSharing"), &settings);
  LoadTransformations(At(test.settings, "resourceTransformations"), &settings);
  LoadPodsReady(test.settings, &settings);
  for (const auto& prefix : ListAt(test.settings, "excludedResourcePrefixes"))
    settings.excluded_resource_prefixes.emplace_back(std::string_view(prefix.as_string()));
  settings.ignore_undeclared = TextAt(test.settings, "quotaCheckStrategy") == "IgnoreUndeclared";
  return settings;
}

}  // namespace muster::conformance
