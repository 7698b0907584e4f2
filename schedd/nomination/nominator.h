// Nominator: asks members' own queues to admit the jobs of ClusterQueues with a dispatch mode, and
// tells the engine who has (rule P34).
//
// Level-triggered: it looks at the published world and at the copies that members list, and does
// what step/ says. All that it decides is the engine's to make durable first; it remembers nothing
// that a restart could lose. Thread-safe; owns its thread between Start and Stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/member_queues.h"
#include "schedd/base/clock.h"
#include "schedd/world/command.h"
#include "schedd/world/world_view.h"

namespace muster::nomination {

struct NominatorOptions {
  std::string instance_id;             // of this Muster installation
  std::string default_image;           // shapes::RenderOptions
  std::int64_t list_ms = 2'000;        // between lists of a member whose copies matter
  std::int64_t idle_list_ms = 60'000;  // and of the others: what is left there goes
  std::int64_t retry_min_ms = 5'000, retry_max_ms = 60'000;  // of calls that failed, doubling
};

class Nominator {
 public:
  using View = std::function<WorldViewPtr()>;
  using Post = std::function<bool(Command)>;  // Engine::Post
  using Manifests = std::function<Result<std::vector<std::string>>(const std::vector<JobId>&)>;

  /// `members` and `clock` must outlive it.
  Nominator(View view, Post post, Manifests manifests, MemberQueues& members, const Clock& clock,
            NominatorOptions options);
  ~Nominator();

  void Start();
  void Stop();
  /// Takes what has arrived and begins what is due; what the thread does again and again. For tests
  /// that have not started it.
  void Step();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with callbacks that are still to come
};

}  // namespace muster::nomination
