// PendingQueues against a model that sorts everything anew for each question.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "schedd/core/queue/queue_order.h"
#include "schedd/core/queue/workload_class.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

class Model {
 public:
  // One that did not change stays where it is, parked or not.
  void Add(const JobPtr& job) {
    const auto known = jobs_.find(job->id);
    if (known == jobs_.end() || Key(*known->second) != Key(*job)) Remove(job->id);
    jobs_[job->id] = job;
  }
  void Remove(JobId id) {
    const auto it = jobs_.find(id);
    if (it == jobs_.end()) return;
    const std::string key = Key(*it->second);
    jobs_.erase(it);
    const bool last = std::none_of(jobs_.begin(), jobs_.end(),
                                   [&](const auto& entry) { return Key(*entry.second) == key; });
    if (last) parked_.erase(key);  // a class without members is forgotten
  }
  void Park(JobId id) {
    if (jobs_.contains(id)) parked_.insert(Key(*jobs_.at(id)));
  }
  void Flush(const std::string& queue) {
    std::erase_if(parked_, [&](const std::string& key) { return key.starts_with(queue + "/"); });
  }
  std::vector<JobPtr> Ordered(const std::string& queue, bool with_parked) const {
    std::vector<JobPtr> ordered;
    for (const auto& [id, job] : jobs_) {
      if (job->cluster_queue != queue) continue;
      if (with_parked || !parked_.contains(Key(*job))) ordered.push_back(job);
    }
    std::sort(ordered.begin(), ordered.end(),
              [](const JobPtr& a, const JobPtr& b) { return Before(*a, *b, {}); });
    return ordered;
  }
  std::size_t size() const { return jobs_.size(); }

 private:
  static std::string Key(const JobRecord& job) {
    std::string key = job.cluster_queue + "/";
    AppendSchedulingKey(ConfigView{}, job, AdmissionSettings{}, &key);
    return key;
  }
  std::map<JobId, JobPtr> jobs_;
  std::set<std::string> parked_;
};

RC_GTEST_PROP(PendingQueuesProperty, AnyHistory_AgreesWithASortedModel, (std::uint64_t seed)) {
  Dice dice(seed);
  Shape shape;
  shape.queues = 3;
  shape.jobs = 60;
  shape.most = 4;  // few sizes, so that classes have several members
  const ConfigView config = RandomConfig(&dice, shape);
  const auto jobs = RandomJobs(&dice, shape, config);
  PendingQueues queues;
  Model model;
  for (int step = 0; step < 150; ++step) {
    const auto& job = jobs[static_cast<std::size_t>(dice.Roll(0, shape.jobs - 1))];
    const auto what = dice.Roll(0, 9);
    if (what < 5) {
      auto changed = std::make_shared<JobRecord>(*job);
      changed->priority = static_cast<std::int32_t>(dice.Roll(0, 1));
      queues.Add(changed, WallTime{});
      model.Add(changed);
    } else if (what < 7) {
      queues.Remove(job->id);
      model.Remove(job->id);
    } else if (what < 9) {
      Plan misfit;
      misfit.not_admitted.emplace_back();
      const JobPtr now = queues.Find(job->id);
      misfit.not_admitted[0].job = now == nullptr ? job : now;
      misfit.not_admitted[0].requeue = RequeueReason::kNoFit;
      queues.Settle(misfit, WallTime{});
      model.Park(job->id);
    } else {
      queues.Flush({job->cluster_queue}, WallTime{});
      model.Flush(job->cluster_queue);
    }
    RC_ASSERT(queues.size() == model.size());
    for (const auto& [name, queue] : config.cluster_queues) {
      const auto all = model.Ordered(name, true);
      const auto active = model.Ordered(name, false);
      RC_ASSERT(queues.Ordered(name, 1000) == all);
      RC_ASSERT(queues.Counts(name).active == active.size());
      RC_ASSERT(queues.Counts(name).inadmissible == all.size() - active.size());
    }
    const auto take = static_cast<std::size_t>(dice.Roll(1, 20));
    auto heads = queues.Heads(take, 1000);
    for (const auto& entry : heads) {
      auto expected = model.Ordered(entry.cluster_queue, false);
      RC_ASSERT(entry.more == (expected.size() > take));
      expected.resize(std::min(expected.size(), take));
      RC_ASSERT(entry.jobs == expected);
    }
  }
}

}  // namespace
}  // namespace muster::core::testing
