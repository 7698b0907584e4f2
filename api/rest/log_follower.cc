#include "api/rest/log_follower.h"

#include <utility>

namespace muster::rest {
namespace {

constexpr std::int64_t kPauseMs = 250;  // how late a follower may see a line
constexpr std::size_t kPieceBytes = 64 << 10;

}  // namespace

void LogFollower::Start(std::shared_ptr<StreamSink> sink, std::shared_ptr<void> slot) {
  sink_ = std::move(sink);
  slot_ = std::move(slot);
  query_.max_bytes = kPieceBytes;
  workers_.Post([self = shared_from_this()] { self->Read(); });
}

void LogFollower::Read() {
  if (sink_->over()) return;
  const Result<LogChunk> chunk = service_.ReadLog(who_, job_, query_);
  if (!chunk.ok()) {
    if (MayStillCome()) return Pause();
    return sink_->End();
  }
  query_.offset = chunk->next_offset;
  if (!chunk->data.empty() && !sink_->Write(chunk->data)) return;
  if (chunk->ended) return sink_->End();
  if (chunk->data.empty()) return Pause();
  sink_->WhenDrained(
      [self = shared_from_this()] { self->workers_.Post([self] { self->Read(); }); });
}

void LogFollower::Pause() {
  workers_.After(kPauseMs,
                 [self = shared_from_this()] { self->workers_.Post([self] { self->Read(); }); });
}

bool LogFollower::MayStillCome() const {
  const Result<JobPtr> job = service_.GetJob(who_, job_);
  return job.ok() && !IsTerminal((*job)->state);
}

}  // namespace muster::rest
