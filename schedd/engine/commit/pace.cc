#include "schedd/engine/commit/pace.h"

#include <algorithm>

namespace muster {
namespace {

// About 25 ms of the writer.
constexpr std::size_t kCommitRows = 256;
// About 3 ms; more once more submissions share a commit.
constexpr std::size_t kCrowdedRows = 32;
// A rest is this many times as long as the commit before it.
constexpr std::int64_t kRestShare = 3;
// A slow database starts jobs too.
constexpr std::int64_t kLongestRestNs = 50 * kNanosPerMilli;
// A busy client has sent its next submission by then.
constexpr std::int64_t kIdleWriterNs = 1 * kNanosPerMilli;
// A few round trips of a busy client.
constexpr std::int64_t kCrowdedNs = 20 * kNanosPerMilli;

}  // namespace

void Pace::TakeSubmissions(std::size_t count) {
  inflight_submissions_ += count;
  crowded_until_ = clock_.Now() + kCrowdedNs;
}

void Pace::Answered() {
  --writes_;
  if (!Outstanding()) writer_idle_since_ = clock_.Now();
}

void Pace::RestAfter(Monotonic sent) {
  const Monotonic now = clock_.Now();
  rest_until_ = now + std::min(kRestShare * (now - sent), kLongestRestNs);
}

std::size_t Pace::CommitDepth() const {
  return Crowded() ? std::min<std::size_t>(commit_depth_, 1) : commit_depth_;
}

bool Pace::Resting(bool somebody_waits) const {
  return Crowded() && !somebody_waits && clock_.Now() < RestEnds();
}

// Resting is for clients: a writer that none of them uses is not left idle for them.
Monotonic Pace::RestEnds() const {
  return Outstanding() ? rest_until_ : std::min(rest_until_, writer_idle_since_ + kIdleWriterNs);
}

std::size_t Pace::RoomAfter(std::size_t taken) const {
  const std::size_t rows = Crowded() ? std::max(kCrowdedRows, inflight_submissions_) : kCommitRows;
  return rows - std::min(rows, taken);
}

}  // namespace muster
