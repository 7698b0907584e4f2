// Metrics on prometheus-cpp's registry. Its types are hidden behind Counter, Gauge and Histogram,
// so that no other room needs its headers. Handles are kept by (name, labels), so asking twice
// gives the same handle. Expose renders the registry, then the samples of the collectors, which are
// called without the lock because they may be slow or use metrics themselves.
#include "schedd/telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "schedd/base/mutex.h"

namespace muster {
namespace {

// Adapters of prometheus-cpp's types.
class PromCounter final : public Counter {
 public:
  explicit PromCounter(prometheus::Counter& counter) : counter_(counter) {}
  void Add(double amount) override { counter_.Increment(amount); }

 private:
  prometheus::Counter& counter_;
};

class PromGauge final : public Gauge {
 public:
  explicit PromGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class PromHistogram final : public Histogram {
 public:
  explicit PromHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void Observe(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

// The samples of collectors as gauges, one family for each name, sorted by name.
std::vector<prometheus::MetricFamily> Families(const std::vector<Sample>& samples) {
  std::map<std::string, prometheus::MetricFamily> by_name;
  for (const auto& sample : samples) {
    auto& family = by_name[sample.name];
    family.name = sample.name;
    family.help = sample.help;
    family.type = prometheus::MetricType::Gauge;
    prometheus::ClientMetric metric;
    for (const auto& [key, value] : sample.labels) metric.label.push_back({key, value});
    metric.gauge.value = sample.value;
    family.metric.push_back(std::move(metric));
  }
  std::vector<prometheus::MetricFamily> out;
  for (auto& [name, family] : by_name) out.push_back(std::move(family));
  return out;
}

}  // namespace

// The registry, and the handles that were given out.
struct Metrics::Impl {
  mutable Mutex mutex;
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  std::map<std::pair<std::string, Labels>, std::unique_ptr<Counter>> counters
      MUSTER_GUARDED_BY(mutex);
  std::map<std::pair<std::string, Labels>, std::unique_ptr<Gauge>> gauges MUSTER_GUARDED_BY(mutex);
  std::map<std::pair<std::string, Labels>, std::unique_ptr<Histogram>> histograms
      MUSTER_GUARDED_BY(mutex);
  std::vector<std::function<std::vector<Sample>()>> collectors MUSTER_GUARDED_BY(mutex);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

// Insert behaviour Merge: the same name with other labels joins the family that exists.
Counter& Metrics::GetCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  MutexLock lock(impl_->mutex);
  auto& slot = impl_->counters[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
    slot = std::make_unique<PromCounter>(family.Add(labels));
  }
  return *slot;
}

Gauge& Metrics::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  MutexLock lock(impl_->mutex);
  auto& slot = impl_->gauges[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
    slot = std::make_unique<PromGauge>(family.Add(labels));
  }
  return *slot;
}

Histogram& Metrics::GetHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const Labels& labels) {
  MutexLock lock(impl_->mutex);
  auto& slot = impl_->histograms[{name, labels}];
  if (slot == nullptr) {
    auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
    slot = std::make_unique<PromHistogram>(family.Add(labels, buckets));
  }
  return *slot;
}

void Metrics::AddCollector(std::function<std::vector<Sample>()> collect) {
  MutexLock lock(impl_->mutex);
  impl_->collectors.push_back(std::move(collect));
}

// Called by each scrape, on the thread of its request.
std::string Metrics::Expose() const {
  std::vector<std::function<std::vector<Sample>()>> collectors;
  {
    MutexLock lock(impl_->mutex);
    collectors = impl_->collectors;
  }
  std::vector<Sample> samples;
  for (const auto& collect : collectors) {
    auto more = collect();
    samples.insert(samples.end(), more.begin(), more.end());
  }
  // Collectors' families come after those of the registry.
  auto families = impl_->registry.Collect();
  for (auto& family : Families(samples)) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace muster
