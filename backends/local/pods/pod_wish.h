// PodWish: a pod that a controller wants. PodRecord: a pod that it has got, and its state. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/local/pods/json_read.h"
#include "schedd/base/time.h"
#include "schedd/model/scheduling.h"
#include "schedd/model/step.h"

namespace muster::local {

/// The place of a pod in its attempt. Stored with the pod.
struct PodIdentity {
  std::string id;           // unique among all pods of the attempt; the name of its directory
  std::string name;         // metadata.name, as the kind's own controller names it
  std::string pod_set;      // of the workload
  std::string owner;        // child job or group inside the attempt
  std::int32_t index = -1;  // completion index, replica or worker index; -1: none
  std::int32_t epoch = 0;   // grows when the owner is restarted as a whole
};

struct PodWish {
  PodIdentity identity;
  json::object pod_template;  // PodTemplateSpec
  std::string host_name;      // "": the pod's name
  std::string subdomain;      // of the kind's headless service; "": the template's own
  /// Set before each container's own variables, which replace these.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Added to the template's; they replace those with the same key.
  LabelMap labels, annotations;
  /// For the first container, if it has no command and the host has this program.
  std::vector<std::string> default_command;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };

struct PodRecord {
  PodIdentity identity;
  PodPhase phase = PodPhase::kPending;
  bool stopping = false;      // its controller has asked it to stop: its end is no failure
  bool lost = false;          // its supervisor died without writing an end
  std::int32_t restarts = 0;  // of its containers, in place
  /// Of the first failed container.
  std::int32_t exit_code = 0, exit_signal = 0;
  /// A container ended with that code by itself, perhaps before the pod was asked to stop.
  bool failed_by_itself = false;
  /// The kernel killed a process of a container for lack of memory in the container's last run.
  bool out_of_memory = false;
  /// Of the container that failed by itself; "" if none did.
  std::string failure_message;
  /// Of every ended container, by its name.
  std::vector<std::pair<std::string, std::int32_t>> exit_codes;
  std::string reason, message;
  MeasuredUse use;
  WallTime created, started, ended;

  bool live() const { return phase == PodPhase::kPending || phase == PodPhase::kRunning; }
};

}  // namespace muster::local
