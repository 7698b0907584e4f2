// EventHub: committed events for the followers of /v1/events. A follower first reads the events it
// missed from the store, page by page as its socket drains, and then receives what the engine
// publishes. Between the two no event is lost or sent twice.
//
// Publish is called on the engine's thread and only pushes. Everything else happens on the writer
// thread of Workers, reads of the store on its pool. While the daemon does not lead, and when it
// has begun to lead anew, streams end within a second or so, and their clients resume from the last
// event they saw and look again at what they wait for: it may be lost. A follower gets the
// events that its caller may see, and ends when its credential or its right does (rules U24, U25).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/rest/http/message.h"
#include "api/rest/http/workers.h"
#include "api/service/event_filter.h"
#include "api/service/scheduler_service.h"

namespace muster::rest {

/// An event as server-sent text: id, event and data lines.
std::string ServerSentText(const Event& event);

class EventHub {
 public:
  /// The references must outlive the hub. `authenticator` says whether a credential is still good.
  EventHub(const api::SchedulerService& service, const auth::Authenticator& authenticator)
      : service_(service), authenticator_(authenticator) {}
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
    std::string ns;  // of the job or object; "" for one of the cluster
    std::string text;
  };
  static Line LineOf(const Event& event);
  using Batch = std::shared_ptr<const std::vector<Line>>;
  struct Follower {
    Follower(const auth::Authorizer& authorizer, auth::Principal caller)
        : who(caller), filter(authorizer, std::move(caller)) {}
    const auth::Principal who;
    api::EventFilter filter;       // used on the writer thread only
    Epoch lead;                    // under which it began
    std::int64_t last = 0;         // seq of the last event sent to it
    bool live = false;             // false: it reads the store
    std::vector<Batch> meanwhile;  // published while it reads
    bool overrun = false;          // `meanwhile` was full: it must read again
    std::shared_ptr<StreamSink> sink;
    std::shared_ptr<void> slot;
  };
  using FollowerPtr = std::shared_ptr<Follower>;

  void ReadPage(const FollowerPtr& follower);
  void TakePage(const FollowerPtr& follower, const Result<api::EventPage>& page);
  void Deliver(Follower& follower, const std::vector<Line>& lines);
  /// Sends what has gathered to all followers.
  void Flush();
  /// Runs once a second while there are followers.
  void Tick();
  /// Ends the streams whose callers may not follow any more.
  void AskAgain();
  void Prune();

  const api::SchedulerService& service_;
  const auth::Authenticator& authenticator_;
  Workers* workers_ = nullptr;
  std::atomic<int> following_{0};  // number of followers; Publish copies nothing while it is 0
  std::list<FollowerPtr> followers_;
  std::vector<Line> gathered_;      // published, and not sent yet
  std::int64_t flushed_at_ns_ = 0;  // when something was sent last
  bool flush_due_ = false;
  bool ticking_ = false;
  int ticks_ = 0;
};

}  // namespace muster::rest
