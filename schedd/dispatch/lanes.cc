// Dispatcher::Impl: the lanes. Ensure, Remove, Acknowledge and Confirm of one key run strictly one
// after another; a key that has failed is delayed by how often it failed in a row.
//
// A Remove takes the place of all calls that have not begun, because the attempt is not wanted any
// more. An Acknowledge waits behind the others, is repeated until it succeeds, and is reported to
// nobody. A Confirm asks whether an object that its member no longer reports is really gone; no
// attempt is lost before that is proven.
#include <algorithm>
#include <utility>

#include "schedd/base/fault_points.h"
#include "schedd/dispatch/impl.h"
#include "schedd/dispatch/step/step.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {
namespace {

Error NoBackend(const std::string& cluster) {
  return Unavailable("member cluster " + cluster + " is not served by this daemon");
}

}  // namespace

void Dispatcher::Impl::Enqueue(EnsureTask task) {
  const DispatchKey key = task.key;
  lanes[key].waiting.emplace_back(std::move(task));
  Advance(key);
}

void Dispatcher::Impl::Enqueue(RemoveTask task) {
  const DispatchKey key = task.key;
  Lane& lane = lanes[key];
  // The attempt is not wanted any more, so calls that have not begun are dropped. An Acknowledge is
  // not needed either: a removal lets the object go.
  std::erase_if(lane.waiting,
                [](const auto& one) { return !std::holds_alternative<RemoveTask>(one); });
  lane.acknowledges = false;
  // The removal does not wait for the back-off of the calls before it.
  if (!lane.remove_failed) {
    lane.failures = 0;
    lane.delayed = lane.backed_off = lane.ensure_failed = false;
  }
  lane.waiting.emplace_back(std::move(task));
  Advance(key);
}

// One Acknowledge at a time, and none if a removal waits.
void Dispatcher::Impl::Enqueue(AcknowledgeTask task) {
  const DispatchKey key = task.key;
  Lane& lane = lanes[key];
  const bool removes = std::any_of(lane.waiting.begin(), lane.waiting.end(), [](const auto& one) {
    return std::holds_alternative<RemoveTask>(one);
  });
  if (!lane.acknowledges && !removes) {
    lane.acknowledges = true;
    lane.waiting.emplace_back(std::move(task));
  }
  Advance(key);
}

// A Confirm or a Remove that waits already will answer the same question.
void Dispatcher::Impl::Enqueue(ConfirmTask task) {
  const DispatchKey key = task.key;
  Lane& lane = lanes[key];
  const bool answered = std::any_of(lane.waiting.begin(), lane.waiting.end(), [](const auto& one) {
    return std::holds_alternative<ConfirmTask>(one) || std::holds_alternative<RemoveTask>(one);
  });
  if (!answered) lane.waiting.emplace_back(std::move(task));
  Advance(key);
}

// Starts the lane's next call if nothing keeps it: a call under way, a back-off, or the lead. An
// Ensure goes into the queue of its member, from which StartEnsures takes it. A lane without calls
// and without failures is removed.
void Dispatcher::Impl::Advance(const DispatchKey& key) {
  const auto found = lanes.find(key);
  if (found == lanes.end()) return;
  Lane& lane = found->second;
  if ((lane.busy && !MUSTER_PLANTED(calls_of_one_key_overlap)) || lane.delayed) return;
  if (lane.waiting.empty()) {
    if (lane.failures == 0) lanes.erase(found);
    return;
  }
  if (lane.failures > 0 && !lane.backed_off) {
    lane.delayed = lane.backed_off = true;
    At(BackoffMs(lane.failures), RetryTask{key});
    return;
  }
  if (!MayBegin(key, &lane)) return;
  lane.backed_off = false;
  auto next = std::move(lane.waiting.front());
  lane.waiting.pop_front();
  lane.busy = true;
  if (auto* ensure = std::get_if<EnsureTask>(&next)) {
    EnsureQueue& out = outgoing[key.cluster];
    auto& queue = ensure->expected_uid.empty() ? out.to_create : out.to_release;
    queue.push_back(std::move(*ensure));
  } else if (auto* remove = std::get_if<RemoveTask>(&next)) {
    StartRemove(std::move(*remove));
  } else if (auto* confirm = std::get_if<ConfirmTask>(&next)) {
    StartConfirm(std::move(*confirm));
  } else {
    StartAcknowledge(std::move(std::get<AcknowledgeTask>(next)));
  }
}

void Dispatcher::Impl::StartConfirm(ConfirmTask task) {
  Backend* const backend = Serving(task.key.cluster);
  if (backend == nullptr) {
    tasks.PushAlways(ConfirmOutcome{task.key, task.uid, NoBackend(task.key.cluster)});
    return;
  }
  backend->Confirm(
      task.key, task.object, task.uid,
      [self = shared_from_this(), key = task.key, uid = task.uid](Result<Presence> outcome) {
    self->tasks.PushAlways(ConfirmOutcome{key, uid, std::move(outcome)});
      });
}

void Dispatcher::Impl::StartAcknowledge(AcknowledgeTask task) {
  Backend* const backend = Serving(task.key.cluster);
  if (backend == nullptr) {
    const std::string cluster = task.key.cluster;
    tasks.PushAlways(AcknowledgeOutcome{std::move(task), NoBackend(cluster)});
    return;
  }
  auto shared = std::make_shared<AcknowledgeTask>(std::move(task));
  backend->Acknowledge(shared->key, shared->object, shared->uid,
                       [self = shared_from_this(), shared](Result<Done> outcome) {
    self->tasks.PushAlways(AcknowledgeOutcome{*shared, std::move(outcome)});
  });
}

void Dispatcher::Impl::StartRemove(RemoveTask task) {
  Backend* const backend = Serving(task.key.cluster);
  if (backend == nullptr) {
    tasks.PushAlways(RemoveOutcome{task.key, NoBackend(task.key.cluster)});
    return;
  }
  MUSTER_FAULT_POINT(remove_begins);
  backend->Remove(task.key, task.policy,
                  [self = shared_from_this(), key = task.key](Result<RemovalResult> outcome) {
    self->tasks.PushAlways(RemoveOutcome{key, std::move(outcome)});
  });
}

// An Ensure with an unknown outcome may have created the object, so a list is taken before it is
// reported and before the lane goes on.
void Dispatcher::Impl::Complete(EnsureOutcome done) {
  MUSTER_FAULT_POINT(ensure_answered);
  --outgoing[done.key.cluster].under_way;
  Lane& lane = lanes[done.key];
  lane.remove_failed = false;
  lane.ensure_failed = !done.outcome.ok();
  if (!done.outcome.ok()) {
    ++lane.failures;
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "ensure_failed",
        {{"cluster", done.key.cluster},
         {"attempt", std::int64_t{done.key.attempt}},
         {"reason", CodeName(done.outcome.error().code)},
         {"err", done.outcome.error().detail}});
    if (done.outcome.error().code == Code::kUnknown) {
      // The lane stays busy until Complete(ListOutcome).
      listings[done.key.cluster].unknown.emplace_back(done.key, done.outcome.error());
      StartList(done.key.cluster);
      return;
    }
  } else {
    lane.failures = 0;
  }
  lane.busy = false;
  Post(EnsuredCommand{done.key, std::move(done.outcome)});
  Advance(done.key);
}

void Dispatcher::Impl::Complete(RemoveOutcome done) {
  Lane& lane = lanes[done.key];
  lane.busy = false;
  lane.remove_failed = !done.outcome.ok();
  if (done.outcome.ok()) {
    lane.failures = 0;
  } else {
    ++lane.failures;
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "remove_failed",
        {{"cluster", done.key.cluster},
         {"attempt", std::int64_t{done.key.attempt}},
         {"reason", CodeName(done.outcome.error().code)},
         {"err", done.outcome.error().detail}});
  }
  Post(RemovedCommand{done.key, std::move(done.outcome)});
  Advance(done.key);
}

// The outcome is reported to nobody. If it failed for good, the engine orders it again when a list
// still shows the object.
void Dispatcher::Impl::Complete(AcknowledgeOutcome done) {
  const DispatchKey key = done.task.key;
  Lane& lane = lanes[key];
  lane.busy = false;
  // False if a Remove was enqueued meanwhile.
  const bool wanted = std::exchange(lane.acknowledges, false);
  if (done.outcome.ok()) {
    lane.failures = 0;
  } else {
    // A Remove does not wait for the back-off of an Acknowledge.
    if (wanted) ++lane.failures;
    lane.remove_failed = false;
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "acknowledge_failed",
        {{"cluster", key.cluster},
         {"attempt", std::int64_t{key.attempt}},
         {"reason", CodeName(done.outcome.error().code)},
         {"err", done.outcome.error().detail}});
    const bool served = Serving(key.cluster) != nullptr;
    if (wanted && served && MayBeMended(done.outcome.error().code)) Enqueue(std::move(done.task));
  }
  Advance(key);
}

// A failed Confirm is reported too; the engine orders it again as long as the answer matters.
void Dispatcher::Impl::Complete(ConfirmOutcome done) {
  Lane& lane = lanes[done.key];
  lane.busy = false;
  lane.remove_failed = false;
  if (done.outcome.ok()) {
    if (!lane.ensure_failed) lane.failures = 0;
  } else {
    ++lane.failures;
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "confirm_failed",
        {{"cluster", done.key.cluster},
         {"attempt", std::int64_t{done.key.attempt}},
         {"reason", CodeName(done.outcome.error().code)},
         {"err", done.outcome.error().detail}});
  }
  Post(ConfirmedCommand{done.key, done.uid, std::move(done.outcome)});
  Advance(done.key);
}

}  // namespace muster::dispatch
