// AccessMetrics: muster_http_requests_total{method,route,code} and
// muster_http_request_seconds{method,route}. The number of label values is bounded: the route is
// its pattern, never a path. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/rest/http/route_table.h"
#include "schedd/telemetry/metrics.h"

namespace muster::rest {

class AccessMetrics {
 public:
  /// `routes` and `metrics` must outlive this object.
  AccessMetrics(const RouteTable& routes, Metrics& metrics);
  /// Counts one answered request. `route` -1: the request was refused before a route was found.
  void Count(int route, int status, std::int64_t duration_ns);

 private:
  static constexpr int kStatuses = 600;
  struct Entry {
    std::atomic<Histogram*> seconds{nullptr};
    std::vector<std::atomic<Counter*>> by_status{static_cast<std::size_t>(kStatuses)};
  };
  Labels LabelsOf(int route) const;

  const RouteTable& routes_;
  Metrics& metrics_;
  std::vector<std::unique_ptr<Entry>> entries_;  // at route + 1
};

}  // namespace muster::rest
