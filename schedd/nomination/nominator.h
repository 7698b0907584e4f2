// Nominator: asks members' own queues to admit the jobs of ClusterQueues with a dispatch mode, and
// tells the engine which member has admitted a job (rule P34).
//
// Level-triggered: it looks at the published world and at the copies that members list, and carries
// out what step/ plans from them. The engine makes every decision durable first; the nominator
// remembers nothing that a restart could lose. Thread-safe; owns its thread between Start and Stop.
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
  /// Of this Muster installation.
  std::string instance_id;
  /// Of shapes::RenderOptions.
  std::string default_image;
  /// Between lists of a member whose copies matter.
  std::int64_t list_ms = 2'000;
  /// Between lists of all other members, by which leftover copies are found.
  std::int64_t idle_list_ms = 60'000;
  /// The wait after a failed call; it doubles.
  std::int64_t retry_min_ms = 5'000, retry_max_ms = 60'000;
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
  /// One round: takes the answers that have arrived and begins what is due. The thread does this
  /// again and again; tests call it without Start.
  void Step();

 private:
  struct Impl;
  // Shared with callbacks that are still to come.
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster::nomination
