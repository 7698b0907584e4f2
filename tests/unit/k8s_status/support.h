// Short forms for the objects of a member and for what is read from them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/k8s/status/status.h"
#include "schedd/model/reason.h"
#include "schedd/text/yaml.h"

namespace muster::k8s {

inline constexpr char kJobUid[] = "01234567-89ab-cdef-0fed-cba987654321";

/// The only document of a YAML text, which must be an object.
inline json::object Yaml(const std::string& text) {
  auto documents = ParseYaml(text);
  EXPECT_TRUE(documents.ok() && documents->size() == 1 && (*documents)[0].is_object()) << text;
  if (!documents.ok() || documents->empty() || !(*documents)[0].is_object()) return {};
  return (*documents)[0].get_object();
}

inline const KindInfo& KindNamed(const std::string& kind) {
  for (const KindInfo& info : Kinds()) {
    if (info.kind == kind) return info;
  }
  ADD_FAILURE() << kind;
  return Kinds()[0];
}

/// An object of attempt 2 of the job, held by our finalizer.
inline json::object Object(const std::string& spec, const std::string& status,
                           const std::string& annotations = "") {
  return Yaml(
      "{metadata: {name: a, namespace: team, uid: u1, resourceVersion: '7', labels: "
      "{muster.io/job-uid: " +
      std::string(kJobUid) +
      ", muster.io/attempt: '2'}, finalizers: [muster.io/record], annotations: "
      "{muster.io/dispatch-sequence: '42'" +
      annotations + "}}, spec: " + spec + ", status: " + status + "}");
}

/// A pod of the same attempt; `more` goes into its metadata's labels.
inline PodState Pod(const std::string& name, const std::string& status,
                    const std::string& pod_set = "main") {
  return ReadPod(Yaml("{metadata: {name: " + name +
                      ", namespace: team, labels: {muster.io/job-uid: " + kJobUid +
                      ", muster.io/attempt: '2', muster.io/pod-set: " + pod_set +
                      "}}, spec: {containers: [{name: c}]}, status: " + status + "}"));
}

inline PodState RunningPod(const std::string& name, const std::string& pod_set = "main") {
  return Pod(name,
             "{phase: Running, startTime: '2026-11-22T10:00:01Z', conditions: [{type: Ready, "
             "status: 'True'}]}",
             pod_set);
}

inline std::string PhaseName(RemotePhase phase) {
  static const char* const kNames[] = {"Suspended", "Pending", "Running",
                                       "Succeeded", "Failed",  "Missing"};
  return kNames[static_cast<int>(phase)];
}

/// "Running ready=2 active=2 | message"; parts that are 0, none or unset are left out.
inline std::string Said(const Observation& seen) {
  std::string text = PhaseName(seen.phase);
  const auto count = [&](const char* name, std::int32_t number) {
    if (number != 0) text += std::string(" ") + name + "=" + std::to_string(number);
  };
  count("ready", seen.ready_pods);
  count("active", seen.active_pods);
  count("succeeded", seen.succeeded_pods);
  count("failed", seen.failed_pods);
  if (seen.exit_code) text += " code=" + std::to_string(*seen.exit_code);
  count("signal", seen.exit_signal);
  if (seen.start_time.set()) text += " from " + FormatRfc3339(seen.start_time).substr(11, 8);
  if (seen.end_time.set()) text += " to " + FormatRfc3339(seen.end_time).substr(11, 8);
  if (seen.reason != Reason::kNone) text += " " + std::string(ReasonName(seen.reason));
  for (const ReclaimablePods& pods : seen.reclaimable)
    text += " reclaim " + pods.pod_set + "=" + std::to_string(pods.count);
  return seen.message.empty() ? text : text + " | " + seen.message;
}

inline std::string Said(const std::string& kind, const json::object& object,
                        const std::vector<PodState>& pods = {}) {
  return Said(Observe(ReadObject(KindNamed(kind), object), pods));
}

}  // namespace muster::k8s
