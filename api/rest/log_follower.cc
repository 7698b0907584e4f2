// Read is the loop: it runs on the members' pool, and each of its ends either schedules the next
// Read or ends the stream: in good order only if the log is known to be whole. No thread waits
// between two reads; the follower lives in the scheduled task.
#include "api/rest/log_follower.h"

#include <utility>

#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

// How late a client may see a line.
constexpr std::int64_t kPauseMs = 250;
constexpr std::size_t kLogPieceBytes = 64 << 10;

}  // namespace

void LogFollower::Start(std::shared_ptr<StreamSink> sink, std::shared_ptr<void> slot) {
  sink_ = std::move(sink);
  slot_ = std::move(slot);
  query_.max_bytes = kLogPieceBytes;
  workers_.PostMember([self = shared_from_this()] { self->Read(); });
  AskAgain();
}

// A log that has ended is forgotten with the last copy of `self`; the timer holds none.
void LogFollower::AskAgain() {
  workers_.After(limits::kAskAgainMs, [weak = weak_from_this()] {
    const std::shared_ptr<LogFollower> self = weak.lock();
    if (self == nullptr || self->sink_->over()) return;
    const Status good = self->authenticator_.StillGood(self->who_);
    if (!good.ok()) return self->EndBecause(good.error());
    // The right is asked on the pool, since it may take a read of the store.
    self->workers_.Post([self] {
      const Result<JobPtr> may =
          self->service_.JobToLog(self->who_, self->job_, api::LogAsk::kMore);
      if (!may.ok() && may.error().code != Code::kUnavailable) self->EndBecause(may.error());
    });
    self->AskAgain();
  });
}

void LogFollower::EndBecause(const Error& error) {
  sink_->Write("\nmuster: the log is not followed any more: " + error.detail + "\n");
  sink_->End();
}

void LogFollower::Read() {
  if (sink_->over()) return;
  const Result<LogChunk> chunk = service_.ReadLog(who_, job_, query_, api::LogAsk::kMore);
  if (!chunk.ok()) {
    const Result<JobPtr> job = service_.JobToLog(who_, job_, api::LogAsk::kMore);
    if (!job.ok()) return EndBecause(job.error());
    // A job that has not started, or waits again, has no log yet.
    if (!IsTerminal((*job)->state)) return Pause();
    // One that ended before it or its container began has none. Of any other the last lines may be
    // missing: the client sees that, and asks again behind what has come.
    return chunk.error().code == Code::kFailedPrecondition ? sink_->End() : sink_->Break();
  }
  query_.offset = chunk->next_offset;
  if (!chunk->data.empty() && !sink_->Write(chunk->data)) return;
  if (chunk->ended) return sink_->End();
  if (chunk->data.empty()) return Pause();
  // The client sets the pace: the next piece is read when this one has left.
  sink_->WhenDrained(
      [self = shared_from_this()] { self->workers_.PostMember([self] { self->Read(); }); });
}

void LogFollower::Pause() {
  workers_.After(kPauseMs, [self = shared_from_this()] {
    self->workers_.PostMember([self] { self->Read(); });
  });
}

}  // namespace muster::rest
