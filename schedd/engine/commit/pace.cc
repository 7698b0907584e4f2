// How the engine shares the one writer of the store with clients that submit. The state is
// `crowded` from the first submission until kCrowdedNs after the last one. In that time commits are
// small (kCrowdedRows), one at a time, and each is followed by a rest of kRestShare times its own
// duration, so clients get three quarters of the writer. Without submissions commits are large and
// overlap. Two bounds keep the rest from costing throughput: it is never longer than
// kLongestRestNs, and it ends once the writer has been idle for kIdleWriterNs, because then the
// clients do not use what is left to them.
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
// With a slow database jobs have to start too.
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

// The rest is in proportion to how long the commit took.
void Pace::RestAfter(Monotonic sent) {
  const Monotonic now = clock_.Now();
  rest_until_ = now + std::min(kRestShare * (now - sent), kLongestRestNs);
}

// A submission waits for every write before it, so only one commit may be ahead of it.
std::size_t Pace::CommitDepth() const {
  return Crowded() ? std::min<std::size_t>(commit_depth_, 1) : commit_depth_;
}

// A client that waits for the commit itself (a cancel, an edit) does not wait for the rest.
bool Pace::Resting(bool somebody_waits) const {
  return Crowded() && !somebody_waits && clock_.Now() < RestEnds();
}

// An idle writer ends the rest early.
Monotonic Pace::RestEnds() const {
  return Outstanding() ? rest_until_ : std::min(rest_until_, writer_idle_since_ + kIdleWriterNs);
}

// When more submissions share a commit they take longer anyway, and scheduling may take as many
// rows as they do.
std::size_t Pace::RoomAfter(std::size_t taken) const {
  const std::size_t rows = Crowded() ? std::max(kCrowdedRows, inflight_submissions_) : kCommitRows;
  return rows - std::min(rows, taken);
}

}  // namespace muster
