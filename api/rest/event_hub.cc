// A follower that is not live reads pages of the store after its last event. Batches that are
// published meanwhile are kept for it, up to kMeanwhileBatches. After a page that was not full, the
// follower is sent the kept batches and is live; events that it already has from the page are
// skipped by their number. If a page was full, or batches had to be dropped, it reads again as soon
// as its socket has taken the last page.
#include "api/rest/event_hub.h"

#include <utility>

#include "api/service/views.h"

namespace muster::rest {
namespace {

// About 150 KB: less than the backlog that a stream may have.
constexpr std::size_t kPageEvents = 500;
constexpr std::size_t kMeanwhileBatches = 64;
constexpr std::int64_t kTickMs = 1000;
// A comment line every 15 s: below the usual idle time-outs of proxies.
constexpr int kHeartbeatTicks = 15;

}  // namespace

std::string ServerSentText(const Event& event) {
  return "id: " + std::to_string(event.seq) + "\nevent: " + event.type +
         "\ndata: " + WriteJson(api::EventJson(event)) + "\n\n";
}

void EventHub::Follow(auth::Principal who, std::int64_t since, std::shared_ptr<StreamSink> sink,
                      std::shared_ptr<void> slot) {
  // Before the first page is read: events published from here on are kept for the follower.
  ++following_;
  auto follower = std::make_shared<Follower>();
  follower->who = std::move(who);
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
    auto batch = std::make_shared<std::vector<Line>>();
    batch->reserve(copy->size());
    for (const Event& event : *copy) batch->push_back({event.seq, ServerSentText(event)});
    OnBatch(batch);
  });
}

// Each batch is formatted once for all followers.
void EventHub::OnBatch(const Batch& batch) {
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
    auto page = std::make_shared<Result<std::vector<Event>>>(
        service_.EventsSince(follower->who, follower->last, kPageEvents));
    workers_->PostWriter([this, follower, page] { TakePage(follower, *page); });
  });
}

void EventHub::TakePage(const FollowerPtr& follower, const Result<std::vector<Event>>& page) {
  if (!page.ok()) {  // the stream ends; the client resumes from the last id it saw
    follower->sink->End();
    return Prune();
  }
  std::vector<Line> lines;
  lines.reserve(page->size());
  for (const Event& event : *page) lines.push_back({event.seq, ServerSentText(event)});
  Deliver(*follower, lines);
  if (follower->sink->over()) return Prune();
  if (page->size() >= kPageEvents || follower->overrun) {
    follower->sink->WhenDrained([this, follower] {
      if (!follower->sink->over()) ReadPage(follower);
    });
    return;
  }
  follower->live = true;
  for (const Batch& batch : std::exchange(follower->meanwhile, {})) Deliver(*follower, *batch);
}

// Sends the lines that the follower does not have yet.
void EventHub::Deliver(Follower& follower, const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    if (line.seq <= follower.last) continue;
    follower.last = line.seq;
    text += line.text;
  }
  if (!text.empty()) follower.sink->Write(text);
}

void EventHub::Tick() {
  workers_->After(kTickMs, [this] {
    const bool ready = service_.Ready().ok();
    const bool beat = ++ticks_ % kHeartbeatTicks == 0;
    for (const FollowerPtr& follower : followers_) {
      // Another leader may commit events that this process does not publish. The client connects
      // again and gets 503 with a time to wait.
      if (!ready) follower->sink->End();
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
