// Kueue's performance loads (rule A64) as data: queues, classes of jobs, when each job arrives, and
// the shortest time in which any scheduler could finish them.
//
// Pure functions and plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

/// How the pods of a job are to be placed on racks.
enum class RackRequest : std::uint8_t { kAnywhere, kRackRequired, kRackPreferred, kSlicesInRacks };

/// Equal jobs: each queue gets `count` of them, one every `interval_ms`, the first after one
/// interval.
struct JobClass {
  std::string name;   // the figures show waits by this name
  std::size_t count;  // in each queue
  std::int64_t interval_ms;
  std::int64_t run_ms;
  std::int32_t priority;
  std::int32_t pods;
  std::int64_t pod_cpu;  // thousandths
  RackRequest wanted = RackRequest::kAnywhere;
  std::int32_t slice_size = 0;

  std::int64_t cpu() const { return pods * pod_cpu; }
};

/// One load: its queues, machines and classes of jobs.
struct ReferenceLoad {
  std::string name;
  std::int32_t cohorts, queues;       // `queues` in each cohort
  std::int64_t nominal, borrowing;    // of each queue, thousandths of a cpu
  std::int32_t racks = 0, nodes = 0;  // `nodes` in each rack; 0: no machines
  std::vector<JobClass> classes;
  double bar = 0;                // the most that elapsed / bound may be
  double reference_seconds = 0;  // the time that Kueue needs, as published
};

/// Finds "baseline", "large-scale" or "tas"; null if there is no such load.
const ReferenceLoad* FindReferenceLoad(std::string_view name);
/// The load with `share` of the jobs of each class, at least one.
ReferenceLoad Scaled(ReferenceLoad load, double share);
std::size_t JobsOf(const ReferenceLoad& load);

/// One job of a load.
struct Arrival {
  std::int64_t at_ms;
  std::int32_t cohort, queue;
  std::size_t job_class, number;  // number: within class and queue
};
/// All jobs in order of time; those of one instant by cohort, queue and class.
std::vector<Arrival> ArrivalsOf(const ReferenceLoad& load);

struct QuotaBound {
  double seconds = 0;
  std::string from;  // the part of the load that it follows from
};
/// The bound of a load: no schedule that keeps the quotas ends sooner. For any instant t, jobs that
/// arrive at t or later cannot begin before t. So the end is at least t + (their CPU seconds) /
/// (the CPUs that they can use), for a whole cohort (the sum of its nominal quotas) and for one
/// queue (nominal + borrowing limit, at most the cohort's). Because a job is not divided, it is
/// also at least t + ceil(n / k) x run time for the n jobs of a class in a cohort or a queue, of
/// which k fit at the same time. The bound is the largest of these over all t, and of each job's
/// arrival + run time.
QuotaBound BoundOf(const ReferenceLoad& load);

}  // namespace muster::bench
