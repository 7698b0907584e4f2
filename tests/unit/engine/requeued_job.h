// A queue whose requeued jobs wait, and a job that waits in it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_world.h"

namespace muster::test {

/// One queue whose requeued jobs wait for `wait`; "" for the default.
inline void DeclareWaiting(EngineWorld* world, const std::string& wait = "") {
  world->Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  const ObjectChange queue = ClusterQueueObject({.nominal = {{"cpu", 4000}}});
  ASSERT_TRUE(
      world->Apply({wait.empty() ? queue : WithAnnotation(queue, "muster.io/requeue-wait", wait)})
          .ok());
  world->Run();
}

/// A job that was requeued while it ran.
inline JobId RequeuedJob(EngineWorld* world, const JobSpec& spec = {}) {
  const JobId id = world->Submit(spec)->id;
  world->Run();
  EXPECT_TRUE(world->Do(JobVerb::kRequeue, id).ok());
  world->Run();
  return id;
}

}  // namespace muster::test
