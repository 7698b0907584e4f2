// EventHub: committed events for the followers of /v1/events. A follower first reads the events it
// missed from the store, page by page as its socket drains, and then receives what the engine
// publishes. Between the two no event is lost or sent twice.
//
// Publish is called on the engine's thread and only pushes. Everything else happens on the writer
// thread of Workers, reads of the store on its pool. While the daemon does not lead, streams end
// within a second or so, and their clients resume from the last event they saw.
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

/// An event as server-sent text: id, event and data lines.
std::string ServerSentText(const Event& event);

class EventHub {
 public:
  explicit EventHub(const api::SchedulerService& service) : service_(service) {}
  /// Call before the first follower. `workers` must outlive the hub's use.
  void Attach(Workers& workers) { workers_ = &workers; }

  /// Adds a follower of the events after `since`. `slot` is held as long as it follows.
  void Follow(auth::Principal who, std::int64_t since, std::shared_ptr<StreamSink> sink,
              std::shared_ptr<void> slot);
  /// Called from the engine's thread, in commit order.
  void Publish(const std::vector<Event>& events);

 private:
  struct Line {
    std::int64_t seq = 0;
    std::string text;
  };
  using Batch = std::shared_ptr<const std::vector<Line>>;
  struct Follower {
    auth::Principal who;
    std::int64_t last = 0;         // seq of the last event sent to it
    bool live = false;             // false: it reads the store
    std::vector<Batch> meanwhile;  // published while it reads
    bool overrun = false;          // `meanwhile` was full: it must read again
    std::shared_ptr<StreamSink> sink;
    std::shared_ptr<void> slot;
  };
  using FollowerPtr = std::shared_ptr<Follower>;

  void ReadPage(const FollowerPtr& follower);
  void TakePage(const FollowerPtr& follower, const Result<std::vector<Event>>& page);
  void Deliver(Follower& follower, const std::vector<Line>& lines);
  void OnBatch(const Batch& batch);
  /// Runs once a second while there are followers.
  void Tick();
  void Prune();

  const api::SchedulerService& service_;
  Workers* workers_ = nullptr;
  std::atomic<int> following_{0};  // number of followers; Publish copies nothing while it is 0
  std::list<FollowerPtr> followers_;
  bool ticking_ = false;
  int ticks_ = 0;
};

}  // namespace muster::rest
