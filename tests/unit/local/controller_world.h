// A small world for the pure controllers: it starts the pods that they want and ends pods as a test
// says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/local/controllers/controller.h"

namespace muster::local {

/// Steps a controller; pods run at once and end when told.
class World {
 public:
  World(const std::string& api_version, const std::string& kind, const std::string& spec)
      : controller_(FindController(api_version, kind)),
        object_(json::parse(R"({"spec":)" + spec + "}").as_object()) {}

  ControllerOutput Step() {
    for (int round = 0; round < 20; ++round) {
      ControllerInput input;
      input.name = "j";
      input.ns = "default";
      input.object = &object_;
      input.pods = &pods;
      input.memo = &memo_;
      input.ports = {4711, 4712, 4713};
      input.now = now;
      input.started = started;
      input.paused_us = paused_us;
      last = controller_->step(input);
      if (!last.memo.empty()) memo_ = last.memo;
      for (const PodWish& wish : last.start) {
        wishes.push_back(wish);
        PodRecord pod;
        pod.identity = wish.identity;
        pod.phase = pods_run ? PodPhase::kRunning : PodPhase::kPending;
        pod.created = pod.started = now;
        pods.push_back(pod);
      }
      for (const std::string& id : last.stop) Find(id).stopping = true;
      bool changed = !last.start.empty();
      for (PodRecord& pod : pods) {
        if (!pod.stopping || !pod.live()) continue;
        pod.phase = PodPhase::kFailed;
        pod.ended = now;
        changed = true;
      }
      if (!changed && !(last.wake_at.set() && last.wake_at <= now)) break;
      if (last.phase == RemotePhase::kSucceeded || last.phase == RemotePhase::kFailed) break;
    }
    return last;
  }
  PodRecord& Find(const std::string& id) {
    return *std::find_if(pods.begin(), pods.end(),
                         [&](const PodRecord& pod) { return pod.identity.id == id; });
  }
  void End(std::size_t pod, int code, const std::string& container = "main") {
    pods[pod].phase = code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
    pods[pod].exit_code = code;
    pods[pod].exit_codes = {{container, code}};
    pods[pod].ended = now;
    now.us += 1;
  }
  int Live() const {
    return static_cast<int>(
        std::count_if(pods.begin(), pods.end(), [](const PodRecord& p) { return p.live(); }));
  }
  static std::string Variable(const PodWish& wish, const std::string& name) {
    for (const auto& [key, value] : wish.environment) {
      if (key == name) return value;
    }
    return "";
  }

  /// A new order for the same attempt.
  void SetSpec(const std::string& spec) {
    object_ = json::parse(R"({"spec":)" + spec + "}").as_object();
  }
  /// The indexes of the pods that live and have not been told to stop.
  std::vector<std::int32_t> Indexes() const {
    std::vector<std::int32_t> indexes;
    for (const PodRecord& pod : pods) {
      if (pod.live() && !pod.stopping) indexes.push_back(pod.identity.index);
    }
    return indexes;
  }

  /// What a daemon had noted when it died.
  void SetMemo(json::object memo) { memo_ = std::move(memo); }
  /// How many pods of an epoch live.
  int LiveOf(std::int32_t epoch) const {
    return static_cast<int>(std::count_if(pods.begin(), pods.end(), [&](const PodRecord& pod) {
      return pod.live() && pod.identity.epoch == epoch;
    }));
  }

  std::vector<PodRecord> pods;
  std::vector<PodWish> wishes;
  /// Whether pods run as soon as they are started; else they wait.
  bool pods_run = true;
  WallTime started{1};
  WallTime now{1'000'000'000};
  std::int64_t paused_us = 0;
  ControllerOutput last;

 private:
  const Controller* controller_;
  json::object object_;
  json::object memo_;
};

inline World Job(const std::string& spec) { return World("batch/v1", "Job", spec); }

}  // namespace muster::local
