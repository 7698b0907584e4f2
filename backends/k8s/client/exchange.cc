// RequestQueue: one line per urgency. A request that timed out stays in its line until it comes to
// the front, so that a time-out need not search for it.
#include "backends/k8s/client/exchange.h"

#include <utility>

namespace muster::k8s {
namespace {

constexpr std::uint64_t kTurnOfTheOldest = 16;

}  // namespace

void RequestQueue::Push(ExchangePtr exchange) {
  lines_[static_cast<std::size_t>(exchange->request.urgency)].push_back(std::move(exchange));
}

void RequestQueue::PushFront(ExchangePtr exchange) {
  lines_[static_cast<std::size_t>(exchange->request.urgency)].push_front(std::move(exchange));
}

// Drops requests at the front that do not wait any more.
void RequestQueue::DropFinished(Line* line) {
  while (!line->empty() && line->front()->stage != Exchange::Stage::kWaiting) line->pop_front();
}

ExchangePtr RequestQueue::Pop(bool lists) {
  const bool oldest_first = ++pops_ % kTurnOfTheOldest == 0;
  Line* chosen = nullptr;
  for (auto& line : lines_) {
    DropFinished(&line);
    if (line.empty() || (&line == &lines_.back() && !lists)) continue;
    if (chosen == nullptr || (oldest_first && line.front()->arrival < chosen->front()->arrival))
      chosen = &line;
  }
  if (chosen == nullptr) return nullptr;
  ExchangePtr out = std::move(chosen->front());
  chosen->pop_front();
  return out;
}

std::vector<ExchangePtr> RequestQueue::TakeAll() {
  std::vector<ExchangePtr> out;
  for (auto& line : lines_) {
    for (auto& exchange : line) {
      if (exchange->stage == Exchange::Stage::kWaiting) out.push_back(std::move(exchange));
    }
    line.clear();
  }
  return out;
}

}  // namespace muster::k8s
