// OrderSink: where the engine's committed orders to members go.
#pragma once

#include <string>

#include "backends/backend.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"

namespace muster {

/// Where committed orders go; implemented by schedd/dispatch. Called on the engine thread; must
/// only enqueue.
class OrderSink {
 public:
  virtual ~OrderSink() = default;
  /// Make it exist, suspended where the member's attempts are made so, else running. With a uid:
  /// the attempt exists as that object, and only that one is released or resized. Repeated after
  /// recovery for rows still in Intent or Releasing.
  virtual void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) = 0;
  virtual void Remove(const DispatchKey& key, RemovePolicy policy) = 0;
  /// The attempt's end is durable: the member may let its object go (Backend::Acknowledge).
  virtual void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                           const std::string& uid) = 0;
  /// Is the object of a live or lost attempt, which its member does not show any more, really gone?
  /// (Backend::Confirm)
  virtual void Confirm(const DispatchKey& key, const RemoteObject& object,
                       const std::string& uid) = 0;
  /// Ask the member for everything it has (after recovery and after gaps).
  virtual void List(const std::string& cluster) = 0;
  /// The store or the lead is lost: nothing that was ordered and has not been sent is sent any
  /// more. What is still wanted is ordered again after the recovery. Lists may go on.
  virtual void Forget() = 0;
};

}  // namespace muster
