// EventHub: committed events to the followers of /v1/events. A follower first reads what it missed
// from the store, page by page as it drains, then lives on what the engine publishes; between the
// two nothing is lost or doubled.
//
// Publish comes from the engine's thread and only pushes. Everything else happens on the writer
// thread of Workers, reads of the store on its pool. While the daemon does not lead nobody follows:
// streams end within a second or so, and their clients resume from the last event they saw.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"
#include "api/service/scheduler_service.h"

namespace muster::rest {

/// One event as server-sent text: id, event and data lines.
std::string ServerSentText(const Event& event);

class EventHub {
 public:
  explicit EventHub(const api::SchedulerService& service) : service_(service) {}
  /// Before the first follower. `workers` must outlive the hub's use.
  void Attach(Workers& workers) { workers_ = &workers; }

  /// Adds a follower of events after `since`. `slot` is held while it follows.
  void Follow(auth::Principal who, std::int64_t since, std::shared_ptr<StreamSink> sink,
              std::shared_ptr<void> slot);
  /// From the engine's thread, in commit order.
  void Publish(const std::vector<Event>& events);

 private:
  struct Line {
    std::int64_t seq = 0;
    std::string text;
  };
  using Batch = std::shared_ptr<const std::vector<Line>>;
  struct Follower {
    auth::Principal who;
    std::int64_t last = 0;         // the last event it was sent
    bool live = false;             // else it reads the store
    std::vector<Batch> meanwhile;  // published while it read
    bool overrun = false;          // too many: it reads again
    std::shared_ptr<StreamSink> sink;
    std::shared_ptr<void> slot;
  };
  using FollowerPtr = std::shared_ptr<Follower>;

  void ReadPage(const FollowerPtr& follower);
  void TakePage(const FollowerPtr& follower, const Result<std::vector<Event>>& page);
  void Deliver(Follower& follower, const std::vector<Line>& lines);
  void OnBatch(const Batch& batch);
  /// Once a second while there are followers.
  void Tick();
  void Prune();

  const api::SchedulerService& service_;
  Workers* workers_ = nullptr;
  std::atomic<int> following_{0};  // Publish copies nothing while it is 0
  std::list<FollowerPtr> followers_;
  bool ticking_ = false;
  int ticks_ = 0;
};

}  // namespace muster::rest
