// Publisher: makes at most one new view in a step of the loop, and then gives out the orders,
// events and answers that waited for it. On the engine thread, but for View.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedd/engine/commit/published.h"
#include "schedd/engine/owners.h"

namespace muster {

class Publisher {
 public:
  using OnEvents = std::function<void(const std::vector<Event>&)>;

  /// All must outlive it. `on_events` may be null.
  Publisher(Owners& owners, std::shared_ptr<Published> published, OnEvents on_events)
      : owners_(owners), published_(std::move(published)), on_events_(std::move(on_events)) {}

  /// Called at the end of each step. `not_ready_reason`: "" if the engine is ready.
  void Publish(const std::string& not_ready_reason);
  /// From any thread; never null.
  WorldViewPtr View() const { return published_->Get(); }

  /// The view of an engine that has not recovered yet.
  static WorldViewPtr EmptyView();

 private:
  WorldViewPtr MakeView(const std::string& not_ready_reason);

  Owners& owners_;
  // Shared with the metrics, which read it when they are scraped.
  std::shared_ptr<Published> published_;
  const OnEvents on_events_;
};

}  // namespace muster
