// The three loads of Kueue's own performance tests as data, and the quota bound of a load.
//
// The bound follows from three facts, tried for every instant t at which a job arrives: jobs that
// arrive at t or later cannot begin before t; a cohort or queue cannot use more CPUs than its
// quota; and a job is not divided. See the comment of BoundOf in the header.
#include "tests/bench/reference_loads.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace muster::bench {
namespace {

constexpr std::int64_t kCpu = 1000;

std::vector<JobClass> PlainClasses(const std::vector<std::size_t>& counts,
                                   const std::vector<std::int64_t>& intervals,
                                   const std::vector<std::int64_t>& runs) {
  return {{"small", counts[0], intervals[0], runs[0], 50, 1, 1 * kCpu},
          {"medium", counts[1], intervals[1], runs[1], 100, 1, 5 * kCpu},
          {"large", counts[2], intervals[2], runs[2], 200, 1, 20 * kCpu}};
}

// The amounts of the baseline as gangs of 2, 4 and 8 pods. A third of each size requires one rack,
// a third prefers one, a third wants slices within racks.
std::vector<JobClass> GangClasses() {
  std::vector<JobClass> classes;
  const auto add = [&](const char* size, const std::vector<std::size_t>& counts, JobClass like) {
    const char* const ways[] = {"required", "preferred", "balanced"};
    const RackRequest wanted[] = {RackRequest::kRackRequired, RackRequest::kRackPreferred,
                                  RackRequest::kSlicesInRacks};
    for (std::size_t i = 0; i < 3; ++i) {
      JobClass one = like;
      one.name = std::string(size) + "-" + ways[i];
      one.count = counts[i];
      one.wanted = wanted[i];
      one.slice_size = wanted[i] == RackRequest::kSlicesInRacks ? one.pods / 2 : 0;
      classes.push_back(one);
    }
  };
  add("small", {120, 120, 110}, {"", 0, 100, 200, 50, 2, 500});
  add("medium", {34, 33, 33}, {"", 0, 500, 500, 100, 4, 1250});
  add("large", {17, 17, 16}, {"", 0, 1200, 1000, 200, 8, 2500});
  return classes;
}

const std::vector<ReferenceLoad>& Loads() {
  static const std::vector<ReferenceLoad> loads = {
      {"baseline", 5, 6, 20 * kCpu, 100 * kCpu, 0, 0,
       PlainClasses({350, 100, 50}, {100, 500, 1200}, {200, 500, 1000}), 1.10, 351},
      {"large-scale", 10, 100, 20 * kCpu, 100 * kCpu, 0, 0,
       PlainClasses({35, 11, 4}, {60, 300, 700}, {150, 350, 700}), 1.15, 1179},
      {"tas", 5, 6, 20 * kCpu, 100 * kCpu, 10, 64, GangClasses(), 1.15, 401},
  };
  return loads;
}

// A part of the load, a cohort or a queue, and the CPUs that it can use at the same time.
struct Part {
  std::int64_t queues;  // the number of queues whose jobs belong to it
  std::int64_t cpu;     // thousandths
  const char* name;
};

void Raise(QuotaBound* bound, double seconds, const std::string& from) {
  if (seconds > bound->seconds) *bound = {seconds, from};
}

// The number of jobs of a class in one queue that arrive at `t_ms` or later; the i-th arrives after
// i intervals.
std::int64_t LaterThan(const JobClass& one, std::int64_t t_ms) {
  const std::int64_t before = t_ms <= 0 ? 0 : (t_ms - 1) / one.interval_ms;
  return std::max<std::int64_t>(static_cast<std::int64_t>(one.count) - before, 0);
}

// Raises the bound by the jobs of `part` that arrive at `t_ms` or later: for each class alone by
// the rounds that it needs, and for all classes by their sum of CPU seconds.
void BoundFrom(const ReferenceLoad& load, const Part& part, std::int64_t t_ms, QuotaBound* bound) {
  const double t = static_cast<double>(t_ms) / 1000;
  double work = 0;  // cpu seconds
  for (const JobClass& one : load.classes) {
    const std::int64_t jobs = part.queues * LaterThan(one, t_ms);
    if (jobs == 0) continue;
    const double run = static_cast<double>(one.run_ms) / 1000;
    work += static_cast<double>(jobs * one.cpu()) / 1000 * run;
    const std::int64_t at_once = part.cpu / one.cpu();
    const auto rounds = static_cast<double>((jobs + at_once - 1) / at_once);
    Raise(bound, t + rounds * run, std::string(part.name) + ", " + one.name + " jobs alone");
  }
  Raise(bound, t + work * 1000 / static_cast<double>(part.cpu),
        std::string(part.name) + ", what arrives from " + std::to_string(t_ms) + " ms on");
}

}  // namespace

const ReferenceLoad* FindReferenceLoad(std::string_view name) {
  for (const ReferenceLoad& load : Loads()) {
    if (load.name == name) return &load;
  }
  return nullptr;
}

ReferenceLoad Scaled(ReferenceLoad load, double share) {
  for (JobClass& one : load.classes) {
    const double count = std::round(static_cast<double>(one.count) * share);
    one.count = std::max<std::size_t>(static_cast<std::size_t>(count), 1);
  }
  return load;
}

std::size_t JobsOf(const ReferenceLoad& load) {
  std::size_t jobs = 0;
  for (const JobClass& one : load.classes) jobs += one.count;
  return jobs * static_cast<std::size_t>(load.cohorts * load.queues);
}

std::vector<Arrival> ArrivalsOf(const ReferenceLoad& load) {
  std::vector<Arrival> all;
  all.reserve(JobsOf(load));
  for (std::int32_t cohort = 0; cohort < load.cohorts; ++cohort) {
    for (std::int32_t queue = 0; queue < load.queues; ++queue) {
      for (std::size_t c = 0; c < load.classes.size(); ++c) {
        for (std::size_t i = 0; i < load.classes[c].count; ++i) {
          const auto nth = static_cast<std::int64_t>(i + 1);
          all.push_back({nth * load.classes[c].interval_ms, cohort, queue, c, i});
        }
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.at_ms, a.cohort, a.queue, a.job_class) <
           std::tie(b.at_ms, b.cohort, b.queue, b.job_class);
  });
  return all;
}

QuotaBound BoundOf(const ReferenceLoad& load) {
  const std::int64_t cohort_cpu = load.queues * load.nominal;
  const Part parts[] = {
      {load.queues, cohort_cpu, "a cohort"},
      {1, std::min(load.nominal + load.borrowing, cohort_cpu), "a queue"},
  };
  QuotaBound bound;
  // The remaining work only changes when a job arrives, so only those instants matter.
  for (const JobClass& one : load.classes) {
    for (std::size_t i = 1; i <= one.count; ++i) {
      const std::int64_t at_ms = static_cast<std::int64_t>(i) * one.interval_ms;
      for (const Part& part : parts) BoundFrom(load, part, at_ms, &bound);
    }
    const std::int64_t last = static_cast<std::int64_t>(one.count) * one.interval_ms + one.run_ms;
    Raise(&bound, static_cast<double>(last) / 1000, "the last " + one.name + " job");
  }
  return bound;
}

}  // namespace muster::bench
