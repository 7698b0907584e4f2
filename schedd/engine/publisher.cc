// A view is made at most once a step and only after a change. It is a plain value: tables are
// shared with the committed world (JobTable copies what changes later), and only small maps are
// copied. Jobs, objects and quotas in it are durable. What describes the moment is of the live
// world: facts of members, room of jobs that are starting, counts of queues.
//
// Orders, answers and events leave after the view was set, never before, so nobody learns of a
// change that View() does not show.
#include "schedd/engine/publisher.h"

#include "schedd/base/fault_points.h"

#include <algorithm>
#include <utility>

namespace muster {

// The view before the first recovery: readers never get null.
WorldViewPtr Publisher::EmptyView() {
  auto view = std::make_shared<WorldView>();
  view->config = std::make_shared<const ConfigView>();
  view->objects = std::make_shared<const ObjectTable>();
  view->usage = core::Usage(core::QuotaTree::Build(*view->config));
  view->not_ready_reasons = {"recovery has not run yet"};
  return view;
}

// The committed world as a view. Numbers of active and parked workloads come from the live queues,
// numbers of holders from the committed ledger.
WorldViewPtr Publisher::MakeView(const std::string& not_ready_reason) {
  const CommittedState& committed = owners_.commits.Seal();
  auto view = std::make_shared<WorldView>();
  view->config = committed.config;
  view->settings = owners_.context.options.settings;
  view->objects = committed.objects;
  view->set_aside = committed.set_aside;
  view->works = committed.works;
  view->jobs = committed.jobs;
  view->usage = committed.ledger.usage();
  view->clusters = committed.ledger.Clusters(*committed.config, owners_.members.facts());
  owners_.jobs.AddStarting(&view->clusters);
  view->placed = owners_.jobs.placed().Counts();
  view->queues = committed.ledger.queues();
  for (const auto& [name, queue] : committed.config->cluster_queues) {
    const core::QueueCounts counts = owners_.waiting.queues().Counts(name);
    QueueStats& stats = view->queues[name];
    stats.active = counts.active;
    stats.inadmissible = counts.inadmissible;
  }
  view->fair_uses = owners_.jobs.fair().View();
  view->last_seq = std::min(committed.last_seq, owners_.commits.SettledSeq());
  view->retired_seq = committed.retired_seq;
  view->as_of = owners_.context.clock.WallNow();
  view->ready = not_ready_reason.empty();
  if (!view->ready) view->not_ready_reasons.push_back(not_ready_reason);
  return view;
}

// The view first, then orders, then events for streams, then answers. `on_ready` runs when a view
// turns ready after it was not.
void Publisher::Publish(const std::string& not_ready_reason) {
  EngineContext& context = owners_.context;
  if (owners_.commits.TakeChanged()) {
    const Monotonic begin = context.clock.Now();
    WorldViewPtr view = MakeView(not_ready_reason);
    const bool ready_now = view->ready && !published_->Get()->ready;
    published_->Set(std::move(view));
    if (ready_now && context.options.on_ready != nullptr) context.options.on_ready();
    context.metrics.publish_seconds.Observe(static_cast<double>(context.clock.Now() - begin) /
                                            static_cast<double>(kNanosPerSecond));
  }
  // An answer may post a command; the next step handles it.
  const CommitPipeline::DuePromises due = owners_.commits.TakeDue();
  MUSTER_FAULT_POINT(view_published);
  for (const Order& order : due.orders) owners_.rows.SendOrder(order);
  MUSTER_FAULT_POINT(orders_sent);
  if (!due.news.empty() && on_events_ != nullptr) on_events_(due.news);
  for (const auto& answer : due.answers) answer();
}

}  // namespace muster
