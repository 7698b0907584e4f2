// Publishing: at most one new view per loop, then the answers that had to wait for it.
#include <utility>

#include "schedd/engine/impl.h"

namespace muster {

void Engine::Impl::Publish() {
  if (dirty) {
    const Monotonic begin = clock.Now();
    auto view = std::make_shared<WorldView>();
    view->config = committed.config;
    view->settings = options.settings;
    view->objects = committed.objects;
    view->set_aside = committed.set_aside;
    view->works = committed.works;
    committed.jobs.Seal();
    view->jobs = committed.jobs;
    view->usage = committed.ledger.usage();
    view->clusters = committed.ledger.Clusters(*committed.config, facts);
    AddStarting(&view->clusters);
    view->placed = placed_jobs.Counts();
    view->queues = committed.ledger.queues();
    for (const auto& [name, queue] : committed.config->cluster_queues) {
      const core::QueueCounts counts = live.pending.Counts(name);
      QueueStats& stats = view->queues[name];
      stats.active = counts.active;
      stats.inadmissible = counts.inadmissible;
    }
    view->fair_uses = fair.View();
    view->last_seq = committed.last_seq;
    view->as_of = clock.WallNow();
    view->ready = ready;
    if (!ready) view->not_ready_reasons.push_back(not_ready_reason);
    const bool ready_now = ready && !published->Get()->ready;
    published->Set(std::move(view));
    dirty = false;
    if (ready_now && options.on_ready != nullptr) options.on_ready();
    metrics.publish_seconds.Observe(static_cast<double>(clock.Now() - begin) /
                                    static_cast<double>(kNanosPerSecond));
  }
  for (const Order& order : std::exchange(due_orders, {})) SendOrder(order);
  // An answer may post; what it posts is handled by the next step.
  std::vector<std::function<void()>> due;
  due.swap(answers);
  if (!news.empty()) {
    std::vector<Event> events;
    events.swap(news);
    if (on_events != nullptr) on_events(events);
  }
  for (const auto& answer : due) answer();
}

}  // namespace muster
