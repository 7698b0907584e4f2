// The metrics registry and the Prometheus text (prometheus-cpp core). Names: rule A62.
//
// Thread-safe. Handles live as long as the registry. Values of labels are bounded: queue, cluster,
// reason, result, method; never a job, user text or path.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace muster {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(double amount = 1) = 0;
};
class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
};
class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

/// A sample made at scrape time.
struct Sample {
  std::string name;
  std::string help;
  Labels labels;
  double value = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter& GetCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& GetGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& GetHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const Labels& labels = {});
  /// `collect` runs at each scrape and returns gauges (queue depths, usage); it must be thread-safe
  /// and quick.
  void AddCollector(std::function<std::vector<Sample>()> collect);
  /// The Prometheus text exposition.
  std::string Expose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
