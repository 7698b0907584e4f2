// A pod that a controller wants, and what became of one that it got. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/local/pods/json_read.h"
#include "schedd/base/time.h"
#include "schedd/model/scheduling.h"

namespace muster::local {

/// Where a pod belongs. Kept on disk with the pod.
struct PodIdentity {
  std::string id;           // unique among all pods the attempt ever had; names its directory
  std::string name;         // metadata.name, as the kind's own controller names it
  std::string pod_set;      // of the workload
  std::string owner;        // child job or group inside the attempt
  std::int32_t index = -1;  // completion index, replica or worker index; -1: none
  std::int32_t epoch = 0;   // grows when the owner starts all over
};

struct PodWish {
  PodIdentity identity;
  json::object pod_template;  // PodTemplateSpec
  std::string host_name;      // "": the pod's name
  std::string subdomain;      // of the kind's headless service; "": the template's own
  std::vector<std::pair<std::string, std::string>>
      environment;               // before each container's own, which wins
  LabelMap labels, annotations;  // over the template's
  std::vector<std::string>
      default_command;  // of the first container if it has none and the host has this program
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };

struct PodRecord {
  PodIdentity identity;
  PodPhase phase = PodPhase::kPending;
  bool stopping = false;      // asked to stop by its controller: its end means nothing
  bool lost = false;          // its supervisor died without a word
  std::int32_t restarts = 0;  // of its containers, in place
  std::int32_t exit_code = 0, exit_signal = 0;                   // of the first failed container
  /// A container of it ended with that code by itself, be it that the pod was stopped after that.
  bool failed_by_itself = false;
  bool out_of_memory = false;   // a container lost a process for want of memory in its last run
  std::string failure_message;  // of that container; "" if none failed by itself
  std::vector<std::pair<std::string, std::int32_t>> exit_codes;  // of every ended container
  std::string reason, message;
  WallTime created, started, ended;

  bool live() const { return phase == PodPhase::kPending || phase == PodPhase::kRunning; }
};

}  // namespace muster::local
