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
  /// Creates the attempt's object (suspended where the member's attempts are created so, else
  /// running). With a uid: releases or resizes that object, and no other. Repeated after recovery
  /// for rows still in Intent or Releasing.
  virtual void Ensure(const DispatchKey& key, JobPtr job, const std::string& expected_uid) = 0;
  virtual void Remove(const DispatchKey& key, RemovePolicy policy) = 0;
  /// The attempt's end is durable: the member may let its object go (Backend::Acknowledge).
  virtual void Acknowledge(const DispatchKey& key, const RemoteObject& object,
                           const std::string& uid) = 0;
  /// Asks whether the object of a live or lost attempt, which its member no longer shows, is really
  /// gone (Backend::Confirm).
  virtual void Confirm(const DispatchKey& key, const RemoteObject& object,
                       const std::string& uid) = 0;
  /// Sends a signal to a running attempt (Backend::Signal). One that cannot be sent is logged.
  virtual void Signal(const DispatchKey& key, const SignalOrder& order) { (void)key, (void)order; }
  /// Lists all objects of the member (after recovery and after gaps).
  virtual void List(const std::string& cluster) = 0;
  /// The store or the lead is lost: no order that has not been sent is sent any more. The recovery
  /// orders again what is still wanted. Lists may go on.
  virtual void Forget() = 0;
};

}  // namespace muster
