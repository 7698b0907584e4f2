// The handle of each series is looked up once and then kept in an atomic, so a request costs no
// lock and no hashing. Two threads may look up the same series at once; the registry gives both the
// same handle.
#include "api/rest/http/access_metrics.h"

#include <algorithm>
#include <string>

namespace muster::rest {
namespace {

// Seconds: from a read of the view to a wait for the store.
const std::vector<double> kBuckets = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

}  // namespace

AccessMetrics::AccessMetrics(const RouteTable& routes, Metrics& metrics)
    : routes_(routes), metrics_(metrics) {
  for (std::size_t i = 0; i <= routes.routes().size(); ++i)
    entries_.push_back(std::make_unique<Entry>());
}

Labels AccessMetrics::LabelsOf(int route) const {
  if (route < 0) return {{"method", "none"}, {"route", "none"}};
  const Route& found = routes_.routes()[static_cast<std::size_t>(route)];
  return {{"method", std::string(MethodName(found.method))}, {"route", found.pattern}};
}

void AccessMetrics::Count(int route, int status, std::int64_t duration_ns) {
  Entry& entry = *entries_[static_cast<std::size_t>(route + 1)];
  auto& slot = entry.by_status[static_cast<std::size_t>(std::clamp(status, 0, kStatuses - 1))];
  Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    Labels labels = LabelsOf(route);
    labels["code"] = std::to_string(status);
    counter = &metrics_.GetCounter("muster_http_requests_total", "HTTP requests answered.", labels);
    slot.store(counter, std::memory_order_release);
  }
  counter->Add();
  if (route < 0) return;
  Histogram* seconds = entry.seconds.load(std::memory_order_acquire);
  if (seconds == nullptr) {
    seconds = &metrics_.GetHistogram("muster_http_request_seconds",
                                     "Time from a request's last byte to its answer.", kBuckets,
                                     LabelsOf(route));
    entry.seconds.store(seconds, std::memory_order_release);
  }
  seconds->Observe(static_cast<double>(duration_ns) * 1e-9);
}

}  // namespace muster::rest
