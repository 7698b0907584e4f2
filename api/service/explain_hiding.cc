// A sentence of an explanation mentions a job as "job 17 (default/train)"; the number tells which.
#include "api/service/explain_hiding.h"

#include <charconv>
#include <memory>
#include <string>

namespace muster::api {
namespace {

JobPtr HiddenCopy(const JobRecord& job) {
  auto hidden = std::make_shared<JobRecord>();
  hidden->name = kHiddenJob;
  hidden->display_name = kHiddenJob;
  hidden->shape = job.shape;
  hidden->cluster_queue = job.cluster_queue;
  hidden->priority = job.priority;
  hidden->state = job.state;
  return hidden;
}

class SentenceHider {
 public:
  SentenceHider(const JobSeen& seen, const JobTable& jobs, JobId own)
      : seen_(seen), jobs_(jobs), own_(own) {}

  void Hide(std::string* text) const {
    static constexpr std::string_view kBegin = "job ";
    for (std::size_t at = text->find(kBegin); at != std::string::npos;
         at = text->find(kBegin, at + 1)) {
      const char* number = text->data() + at + kBegin.size();
      const char* end = text->data() + text->size();
      std::int64_t id = 0;
      const auto parsed = std::from_chars(number, end, id);
      if (parsed.ec != std::errc() || end - parsed.ptr < 2 || parsed.ptr[0] != ' ' ||
          parsed.ptr[1] != '(') {
        continue;
      }
      const auto after = static_cast<std::size_t>(parsed.ptr - text->data());
      const std::size_t close = text->find(')', after);
      if (close == std::string::npos || Seen(JobId{id})) continue;
      text->replace(at, close + 1 - at, kHiddenJob);
    }
  }
  void Hide(std::vector<std::string>* texts) const {
    for (std::string& text : *texts) Hide(&text);
  }

 private:
  bool Seen(JobId id) const {
    if (id == own_) return true;
    const JobPtr job = jobs_.Find(id);
    return job != nullptr && seen_(*job);
  }

  const JobSeen& seen_;
  const JobTable& jobs_;
  const JobId own_;
};

}  // namespace

void HideJobs(const JobSeen& seen, std::vector<JobPtr>* jobs) {
  for (JobPtr& job : *jobs) {
    if (!seen(*job)) job = HiddenCopy(*job);
  }
}

void HideJobs(const JobSeen& seen, const JobTable& jobs, JobExplanation* explained) {
  core::Explanation& why = explained->why;
  const SentenceHider sentences(seen, jobs, why.job->id);
  for (std::string* text : {&why.summary, &why.message, &why.place.blocked, &why.preemption.outcome,
                            &explained->start.text})
    sentences.Hide(text);
  for (std::vector<std::string>* texts :
       {&why.facts, &why.would_help, &why.preemption.would_allow, &explained->start.assumptions})
    sentences.Hide(texts);
  for (core::FlavorFinding& finding : why.flavors) {
    sentences.Hide(&finding.verdict.message);
    sentences.Hide(&finding.limit);
  }
  for (core::ClusterVerdict& cluster : why.clusters) sentences.Hide(&cluster.message);
  for (core::QueueHolders& held : why.preemption.held_by) {
    sentences.Hide(&held.verdict);
    HideJobs(seen, &held.first);
  }
  HideJobs(seen, &why.place.ahead);
  HideJobs(seen, &why.preemption.victims);
  HideJobs(seen, &explained->start.without_limit);
  if (why.place.blocker != nullptr && !seen(*why.place.blocker))
    why.place.blocker = HiddenCopy(*why.place.blocker);
}

}  // namespace muster::api
