// A follower that is not live reads pages of the store after its last event. Batches that are
// published meanwhile are kept for it, up to kMeanwhileBatches. After a page that was not full, the
// follower is sent the kept batches and is live; events that it already has from the page are
// skipped by their number. If a page was full, or batches had to be dropped, it reads again as soon
// as its socket has taken the last page.
#include "api/rest/event_hub.h"

#include <algorithm>
#include <utility>

#include "api/service/ask_again.h"
#include "api/service/views.h"
#include "schedd/base/limits.h"
#include "schedd/base/time.h"

namespace muster::rest {
namespace {

// About 150 KB: less than the backlog that a stream may have.
constexpr std::size_t kPageEvents = 500;
constexpr std::size_t kMeanwhileBatches = 64;
// An event after a quiet while is sent at once. Of a stream of them so much is sent together: each
// follower costs a system call and a wake-up for each batch.
constexpr std::int64_t kGatherMs = 100;
constexpr std::int64_t kTickMs = 1000;
// A comment line every 15 s: below the usual idle time-outs of proxies.
constexpr int kHeartbeatTicks = 15;
constexpr int kAskAgainTicks = static_cast<int>(limits::kAskAgainMs / kTickMs);

// Ends a stream with a comment that says why; a client resumes from the last id that it saw.
void EndBecause(StreamSink& sink, const Error& error) {
  std::string why = error.detail;
  std::replace(why.begin(), why.end(), '\n', ' ');
  sink.Write(": the stream ends: " + why + "\n\n");
  sink.End();
}

}  // namespace

std::string ServerSentText(const Event& event) {
  return "id: " + std::to_string(event.seq) + "\nevent: " + event.type +
         "\ndata: " + WriteJson(api::EventJson(event)) + "\n\n";
}

EventHub::Line EventHub::LineOf(const Event& event) {
  return {event.seq, std::string(api::NamespaceOf(event)), ServerSentText(event)};
}

void EventHub::Follow(auth::Principal who, std::int64_t since, std::shared_ptr<StreamSink> sink,
                      std::shared_ptr<void> slot) {
  // Before the first page is read: events published from here on are kept for the follower.
  ++following_;
  auto follower = std::make_shared<Follower>(service_.authorizer(), std::move(who));
  follower->lead = service_.LastLead();
  follower->last = since;
  follower->sink = std::move(sink);
  follower->slot = std::move(slot);
  workers_->PostWriter([this, follower] {
    followers_.push_back(follower);
    // These first bytes tell the client that from now on it misses no event.
    follower->sink->Write(": following from " + std::to_string(follower->last) + "\n\n");
    ReadPage(follower);
    if (!std::exchange(ticking_, true)) Tick();
  });
}

void EventHub::Publish(const std::vector<Event>& events) {
  if (following_.load() == 0 || events.empty()) return;
  workers_->PostWriter([this, copy = std::make_shared<const std::vector<Event>>(events)] {
    for (const Event& event : *copy) gathered_.push_back(LineOf(event));
    if (flush_due_) return;
    const std::int64_t since = (Workers::NowNs() - flushed_at_ns_) / kNanosPerMilli;
    if (since >= kGatherMs) return Flush();
    flush_due_ = true;
    workers_->After(kGatherMs - since, [this] { Flush(); });
  });
}

// Each batch is formatted once for all followers.
void EventHub::Flush() {
  flush_due_ = false;
  flushed_at_ns_ = Workers::NowNs();
  const Batch batch = std::make_shared<const std::vector<Line>>(std::exchange(gathered_, {}));
  for (const FollowerPtr& follower : followers_) {
    if (follower->live) {
      Deliver(*follower, *batch);
    } else if (follower->meanwhile.size() < kMeanwhileBatches) {
      follower->meanwhile.push_back(batch);
    } else {
      follower->overrun = true;
    }
  }
  Prune();
}

// Reads on the pool, continues in TakePage on the writer thread.
void EventHub::ReadPage(const FollowerPtr& follower) {
  follower->meanwhile.clear();
  follower->overrun = false;
  workers_->Post([this, follower] {
    auto page = std::make_shared<Result<api::EventPage>>(
        service_.EventsSince(follower->who, follower->last, kPageEvents));
    workers_->PostWriter([this, follower, page] { TakePage(follower, *page); });
  });
}

// The page has the events that the follower may see of those up to page.through.
void EventHub::TakePage(const FollowerPtr& follower, const Result<api::EventPage>& page) {
  if (!page.ok()) {  // the stream ends; the client resumes from the last id it saw
    EndBecause(*follower->sink, page.error());
    return Prune();
  }
  std::vector<Line> lines;
  lines.reserve(page->events.size());
  for (const Event& event : page->events) lines.push_back(LineOf(event));
  Deliver(*follower, lines);
  follower->last = std::max(follower->last, page->through);
  if (follower->sink->over()) return Prune();
  if (page->more || follower->overrun) {
    follower->sink->WhenDrained([this, follower] {
      if (!follower->sink->over()) ReadPage(follower);
    });
    return;
  }
  follower->live = true;
  for (const Batch& batch : std::exchange(follower->meanwhile, {})) Deliver(*follower, *batch);
}

// Sends the lines that the follower does not have yet and that its caller may see.
void EventHub::Deliver(Follower& follower, const std::vector<Line>& lines) {
  const ConfigPtr config = service_.View()->config;
  const std::int64_t version = config == nullptr ? 0 : config->version;
  std::string text;
  for (const Line& line : lines) {
    if (line.seq <= follower.last) continue;
    follower.last = line.seq;
    if (follower.filter.Shows(line.ns, version)) text += line.text;
  }
  if (!text.empty()) follower.sink->Write(text);
}

// Followers that still read pages are asked by the service with each page, too.
void EventHub::AskAgain() {
  for (const FollowerPtr& follower : followers_) {
    if (follower->sink->over()) continue;
    const Status may = api::MayKeepFollowing(authenticator_, service_, follower->who);
    if (!may.ok()) EndBecause(*follower->sink, may.error());
  }
}

void EventHub::Tick() {
  workers_->After(kTickMs, [this] {
    const bool ready = service_.Ready().ok();
    const Epoch lead = service_.LastLead();
    const bool beat = ++ticks_ % kHeartbeatTicks == 0;
    if (ready && ticks_ % kAskAgainTicks == 0) AskAgain();
    for (const FollowerPtr& follower : followers_) {
      // Another leader may commit events that this process does not publish. The client connects
      // again and gets 503 with a time to wait.
      if (!ready) follower->sink->End();
      if (ready && follower->lead != lead) {
        EndBecause(*follower->sink,
                   Unavailable("a new lead has begun; go on after the last event"));
      }
      if (ready && beat) follower->sink->Write(": alive\n\n");
    }
    Prune();
    if (followers_.empty()) {
      ticking_ = false;
    } else {
      Tick();
    }
  });
}

// Removes the followers whose streams are over.
void EventHub::Prune() {
  following_ -= static_cast<int>(std::erase_if(
      followers_, [](const FollowerPtr& follower) { return follower->sink->over(); }));
}

}  // namespace muster::rest
