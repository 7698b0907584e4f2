// Pace: one writer serves both submissions and scheduling, and whoever submits waits for whatever
// was sent before. So commits are bounded in rows; while submissions come they are short, sent one
// at a time, and with a rest between two, so that clients keep most of the writer and of the
// processors. A writer that is idle nonetheless ends the rest. Reports of members wait here until a
// commit has room for them.
#include <algorithm>

#include "schedd/engine/impl.h"

namespace muster {
namespace {

constexpr std::size_t kCommitRows = 256;  // about 25 ms of the writer
constexpr std::size_t kCrowdedRows = 32;  // about 3 ms; more once more submissions share a commit
constexpr std::int64_t kRestShare = 3;    // a rest is this many times as long as the commit before
constexpr std::int64_t kLongestRestNs = 50 * kNanosPerMilli;  // a slow database starts jobs too
constexpr std::int64_t kIdleWriterNs =
    1 * kNanosPerMilli;  // a busy client has sent his next by then

}  // namespace

std::size_t Engine::Impl::CommitDepth() const {
  return Crowded() ? std::min<std::size_t>(options.commit_depth, 1) : options.commit_depth;
}

// Whoever waits for a change (a cancel, a new quota) is not kept waiting by it.
bool Engine::Impl::Resting() const {
  return Crowded() && tx.waiters.empty() && clock.Now() < RestEnds();
}

// Resting is for clients: a writer that none of them uses is not left idle for them.
Monotonic Engine::Impl::RestEnds() const {
  return Outstanding() ? rest_until : std::min(rest_until, writer_idle_since + kIdleWriterNs);
}

void Engine::Impl::NoteWriterIdle() {
  if (!Outstanding()) writer_idle_since = clock.Now();
}

void Engine::Impl::RestAfter(Monotonic sent) {
  const Monotonic now = clock.Now();
  rest_until = now + std::min(kRestShare * (now - sent), kLongestRestNs);
}

std::size_t Engine::Impl::CommitRoom() const {
  const std::size_t rows = Crowded() ? std::max(kCrowdedRows, inflight_submissions) : kCommitRows;
  const std::size_t taken = std::max(tx.jobs.size(), tx.dispatches.size());
  return rows - std::min(rows, taken);
}

bool Engine::Impl::HandleReports() {
  bool handled = false;
  while (!reports.empty() && CommitRoom() > 0) {
    std::visit([this](auto& one) { Handle(std::move(one)); }, reports.front());
    reports.pop_front();
    handled = true;
  }
  return handled;
}

}  // namespace muster
