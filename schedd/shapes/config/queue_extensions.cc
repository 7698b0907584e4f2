// What Muster adds to a ClusterQueue, in annotations: dispatch modes for members that run queues of
// their own (rule P33), rebalancing, and what becomes of a job that no member can ever hold. An
// annotation that has no effect without another one is refused where that one is missing.
#include <charconv>

#include "schedd/base/limits.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/security/tenancy_readers.h"
#include "schedd/text/duration.h"

namespace muster::shapes {
namespace {

constexpr std::int32_t kStepMost = static_cast<std::int32_t>(limits::kNominatedClusters);
constexpr std::int32_t kGainMost = 200;  // scores of terms are -100 to 100
constexpr std::int64_t kLeastPeriodMs = 1000;
constexpr std::int64_t kLongestPeriodMs = 30LL * 24 * 3'600'000;

// A number from 1 to `most`; `otherwise` if the annotation is absent or wrong.
std::int32_t ReadNumber(const Field& annotation, std::int32_t otherwise, std::int32_t most) {
  const auto text = annotation.String();
  if (!text) return otherwise;
  std::int32_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc() || end != text->data() + text->size() || number < 1 || number > most) {
    annotation.Fail("must be a number from 1 to " + std::to_string(most));
    return otherwise;
  }
  return number;
}

// A duration in whole seconds; `otherwise_s` if the annotation is absent or wrong.
std::int64_t ReadPeriod(const Field& annotation, std::int64_t otherwise_s) {
  const auto text = annotation.String();
  if (!text) return otherwise_s;
  const auto period_ms = ParseDurationMs(*text);
  if (!period_ms || *period_ms < kLeastPeriodMs || *period_ms > kLongestPeriodMs ||
      *period_ms % 1000 != 0) {
    annotation.Fail("must be a duration of whole seconds between 1s and 30d, such as 5m");
    return otherwise_s;
  }
  return *period_ms / 1000;
}

MemberDispatch ReadDispatch(const Field& annotations) {
  MemberDispatch read;
  const Field mode = annotations.Named("muster.io/dispatch-mode");
  const Field step = annotations.Named("muster.io/dispatch-step");
  const Field every = annotations.Named("muster.io/dispatch-every");
  const auto text = mode.OneOf({"Direct", "AllAtOnce", "Incremental", "External"});
  if (text == "AllAtOnce") read.mode = DispatchMode::kAllAtOnce;
  if (text == "External") read.mode = DispatchMode::kExternal;
  if (text == "Incremental") {
    read.mode = DispatchMode::kIncremental;
    read.step = ReadNumber(step, read.step, kStepMost);
    read.every_s = ReadPeriod(every, read.every_s);
  } else if (text || !mode.present()) {
    step.Refuse("is only for muster.io/dispatch-mode Incremental");
    every.Refuse("is only for muster.io/dispatch-mode Incremental");
  }
  return read;
}

Rebalance ReadRebalance(const Field& annotations) {
  Rebalance read;
  const Field on = annotations.Named("muster.io/rebalance");
  const Field gain = annotations.Named("muster.io/rebalance-gain");
  const Field every = annotations.Named("muster.io/rebalance-every");
  if (!on.present()) {
    gain.Refuse("needs annotation muster.io/rebalance");
    every.Refuse("needs annotation muster.io/rebalance");
    return read;
  }
  read.on = on.OneOf({"true", "false"}) == "true";
  read.gain = ReadNumber(gain, read.gain, kGainMost);
  read.every_s = ReadPeriod(every, read.every_s);
  return read;
}

}  // namespace

void ReadQueueExtensions(const Field& annotations, ClusterQueue* queue) {
  queue->dispatch = ReadDispatch(annotations);
  queue->rebalance = ReadRebalance(annotations);
  queue->pod_security = ReadPodSecurityAnnotation(annotations);
  // Only checked here: the value is read where a job is refused (api/service/never_fits.h).
  (void)annotations.Named("muster.io/never-fits").OneOf({"refuse", "wait"});
  if (queue->concurrent_admission && queue->dispatch.mode != DispatchMode::kDirect) {
    annotations.Named("muster.io/dispatch-mode")
        .Fail("must be Direct in a ClusterQueue with concurrentAdmissionPolicy");
  }
}

}  // namespace muster::shapes
