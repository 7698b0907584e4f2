// Pace: one writer serves both submissions and scheduling, and whoever submits waits for whatever
// was sent before. So commits are bounded in rows, and while submissions come they are short and
// sent one at a time. Reports of members wait here until a commit has room for them.
#include <algorithm>

#include "schedd/engine/impl.h"

namespace muster {
namespace {

constexpr std::size_t kCommitRows = 256;  // about 25 ms of the writer
constexpr std::size_t kCrowdedRows = 8;   // about 1 ms; more once more submissions share a commit

}  // namespace

bool IsReport(const Command& command) {
  return std::holds_alternative<ObservedCommand>(command) ||
         std::holds_alternative<EnsuredCommand>(command) ||
         std::holds_alternative<RemovedCommand>(command) ||
         std::holds_alternative<ListedCommand>(command);
}

std::size_t Engine::Impl::CommitDepth() const {
  return Crowded() ? std::min<std::size_t>(options.commit_depth, 1) : options.commit_depth;
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
