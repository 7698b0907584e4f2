// Functions that several controllers of a fake member use.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_member/cluster.h"

namespace muster::fake {

/// A pod as its controller sees it.
struct PodView {
  Key key;
  ObjectPtr seen;
  bool deleting = false, counted = false;
  std::int64_t born = 0;
  const json::object& object() const { return *seen; }
  std::string phase() const { return Text(object(), {"status", "phase"}); }
  bool ended() const { return phase() == "Succeeded" || phase() == "Failed"; }
  bool active() const { return !ended() && !deleting; }
  bool ready() const;
  std::string Label(std::string_view name) const {
    return Text(object(), {"metadata", "labels", name});
  }
};

/// The pods that name the uid as an owner, oldest first.
std::vector<PodView> PodsOf(Cluster& cluster, const std::string& uid);

/// A pod from a template, with labels and annotations added to its own.
json::object PodFrom(const json::object& pod_template, const json::object& labels,
                     const json::object& annotations = {});
/// Makes `owner` the controller of the object.
void SetOwner(Cluster& cluster, const Key& owner, json::object& object);
/// Makes a pod; false, with an Event on `owner`, if the API server refuses it.
bool CreatePod(Cluster& cluster, const Key& owner, json::object pod);

/// Sets a condition: `lastTransitionTime` and `extra` change with its status.
void SetCondition(json::object& status, const std::string& type, bool holds,
                  const std::string& reason, const std::string& message, const std::string& now,
                  const json::object& extra = {});
void DropCondition(json::object& status, std::string_view type);

/// Sets a number, or removes the member if it is zero (as Go's omitempty).
void SetOrDrop(json::object& object, std::string_view name, std::int64_t number);

}  // namespace muster::fake
