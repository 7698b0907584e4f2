// One step as the manager knows it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clients/steps/agent/manager.h"

namespace muster::steps {

/// A step that waits has a provisional number, negative, until it is created.
struct Manager::Step {
  std::int32_t number = 0;
  int client = -1;  // the connection that owns it; -1 once it is gone
  CreateStep request;
  std::vector<NodeGrant> grants;
  bool launched = false, told_busy = false;
  StepLine line;
  std::set<std::pair<std::int32_t, std::size_t>> open;  // shares that run: part and node
  std::map<std::int32_t, std::int32_t> unended;         // tasks and their grant's place
  std::int64_t limit_timer = 0, kill_timer = 0;
  bool cancelled = false, timed_out = false, terminating = false;
  bool few_words = false, kill_now = false;
  std::string lost_host;
  std::int32_t worst_status = 0;
  std::int32_t memory_kills = 0;  // tasks that the kernel has killed for lack of memory
  // Shares whose tasks have all come to the fence, and what they have put since the last one.
  std::size_t came_to_fence = 0;
  std::vector<std::string> fence_pairs;
  std::vector<int> attached;
};

}  // namespace muster::steps
