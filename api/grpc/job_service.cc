// One method per RPC of JobService, with gRPC's callback API. Each method takes the caller
// (CallerOf, which also refuses while the daemon is not ready), converts the request, makes one
// call of SchedulerService, and converts the result into the response. Reads answer on gRPC's
// thread and may block on the store, but those that wait for a member have threads of their own;
// changes answer on the engine's thread after the commit. The two streams have classes of their
// own: SubmitStream and EventWatch.
#include "api/grpc/job_service.h"

#include <algorithm>
#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "api/grpc/convert_explain.h"
#include "api/grpc/submit_stream.h"
#include "api/service/audit_log.h"
#include "schedd/base/limits.h"

namespace muster::api {
namespace {

constexpr std::size_t kDefaultPage = 100;

// The filters of a list; an unknown state is refused by name.
Result<JobFilter> FilterOf(const v1::ListJobsRequest& request) {
  JobFilter filter;
  filter.ns = request.namespace_();
  filter.queue = request.queue();
  filter.user = request.user();
  for (const std::string& name : request.states()) {
    const std::optional<JobState> state = JobStateOf(name);
    if (!state) {
      return InvalidField("states",
                          "\"" + name +
                              "\" is not a state; the states are Held, Pending, Admitted, "
                              "Running, Succeeded, Failed and Cancelled");
    }
    filter.states.push_back(*state);
  }
  return filter;
}

}  // namespace

grpc::ServerUnaryReactor* JobServiceImpl::SubmitJob(grpc::CallbackServerContext* context,
                                                    const v1::SubmitJobRequest* request,
                                                    v1::SubmitJobResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  ParseBudget budget = ParseBudget::ForRequest();
  Result<json::value> body = OneDocument(request->manifest(), &budget);
  if (!body.ok())
    return Refuse(context, service_, *who, "create", "job/" + request->namespace_(), body.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  for (const std::string& warning : service_.JobWarnings(request->namespace_(), *body))
    response->add_warnings(warning);
  SubmitRequest submit{request->namespace_(), std::move(*body), request->idempotency_key()};
  service_.SubmitAll(*who, std::move(submit),
                     Audited(service_, *who, "create", "job/" + request->namespace_(),
                             [context, reactor, response](Result<std::vector<SubmittedJob>> jobs) {
    Answer(context, reactor, jobs, [response](const std::vector<SubmittedJob>& all) {
      ToProto(*all.front().job, response->mutable_job());
      response->set_replayed(all.front().replayed);
      // The tasks of an array script, the first one included.
      if (all.size() == 1) return;
      for (const SubmittedJob& task : all) ToProto(*task.job, response->add_array_tasks());
    });
                     }));
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::BatchSubmitJobs(grpc::CallbackServerContext* context,
                                                          const v1::BatchSubmitJobsRequest* request,
                                                          v1::BatchSubmitJobsResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  if (static_cast<std::size_t>(request->manifests_size()) > limits::kBatchJobs) {
    return Refuse(context, service_, *who, "create", "job/" + request->namespace_(),
                  InvalidField("manifests",
                               "holds more than " + std::to_string(limits::kBatchJobs) + " jobs"));
  }
  // Items whose text is not a document are answered here; the rest go to the service, in order.
  // slots[k] is the item of bodies[k].
  std::vector<json::value> bodies;
  std::vector<int> slots;
  std::vector<std::vector<std::string>> warnings;  // of bodies[k]
  std::vector<Result<SubmittedJob>> unread;        // for the audit trail
  ParseBudget budget = ParseBudget::ForRequest();  // for all items together
  for (int i = 0; i < request->manifests_size(); ++i) {
    v1::SubmitOutcome* item = response->add_items();
    Result<json::value> body = OneDocument(request->manifests(i), &budget);
    if (!body.ok()) {
      ToProto(body.error(), item->mutable_problem());
      unread.emplace_back(body.error());
      continue;
    }
    warnings.push_back(service_.JobWarnings(request->namespace_(), *body));
    bodies.push_back(std::move(*body));
    slots.push_back(i);
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.SubmitBatch(
      *who, request->namespace_(), std::move(bodies),
      Audited(service_, *who, "create", "job/" + request->namespace_(),
              [this, context, reactor, response, slots, warnings = std::move(warnings),
               unread = std::move(unread), who = *who,
               ns = request->namespace_()](Result<std::vector<Result<SubmittedJob>>> results) {
    if (results.ok()) results->insert(results->end(), unread.begin(), unread.end());
    Answer(context, reactor, results, [&](const std::vector<Result<SubmittedJob>>& all) {
      NoteFailedItems(service_.audit(), who, ns, all);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        v1::SubmitOutcome* item = response->mutable_items(slots[i]);
        if (all[i].ok()) {
          ToProto(*all[i]->job, item->mutable_job());
          for (const std::string& warning : warnings[i]) item->add_warnings(warning);
        } else {
          ToProto(all[i].error(), item->mutable_problem());
        }
      }
    });
      }));
  return reactor;
}

grpc::ServerReadReactor<v1::SubmitJobRequest>* JobServiceImpl::StreamSubmitJobs(
    grpc::CallbackServerContext* context, v1::BatchSubmitJobsResponse* response) {
  return new SubmitStream(service_, callers_, events_, context,
                          response);  // deletes itself in OnDone
}

grpc::ServerUnaryReactor* JobServiceImpl::GetJob(grpc::CallbackServerContext* context,
                                                 const v1::GetJobRequest* request,
                                                 v1::Job* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.GetJob(*who, request->id()),
         [response](const JobPtr& job) { ToProto(*job, response); });
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::ListJobs(grpc::CallbackServerContext* context,
                                                   const v1::ListJobsRequest* request,
                                                   v1::ListJobsResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  const Result<JobFilter> filter = FilterOf(*request);
  if (!filter.ok()) return Refuse(context, filter.error());
  if (request->page_size() < 0)
    return Refuse(context, InvalidField("page_size", "must not be negative"));
  // 0 is the default size; more than a page is cut to one.
  const std::size_t size =
      request->page_size() == 0
          ? kDefaultPage
          : std::min<std::size_t>(static_cast<std::size_t>(request->page_size()),
                                  limits::kPageItems);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.ListJobs(*who, *filter, request->page_token(), size),
         [response](const JobPage& page) {
    for (const JobPtr& job : page.items) ToProto(*job, response->add_items());
    response->set_next_page_token(page.next_page_token);
  });
  return reactor;
}

// The common part of CancelJob, HoldJob, ReleaseJob and RequeueJob.
grpc::ServerUnaryReactor* JobServiceImpl::Change(grpc::CallbackServerContext* context,
                                                 const v1::JobActionRequest* request, JobVerb verb,
                                                 v1::Job* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.ChangeJob(*who, request->id(), verb,
                     Audited(service_, *who, JobVerbName(verb), "job " + request->id(),
                             [context, reactor, response](Result<JobPtr> job) {
    Answer(context, reactor, job,
           [response](const JobPtr& changed) { ToProto(*changed, response); });
                     }));
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::CancelJob(grpc::CallbackServerContext* context,
                                                    const v1::JobActionRequest* request,
                                                    v1::Job* response) {
  return Change(context, request, JobVerb::kCancel, response);
}

grpc::ServerUnaryReactor* JobServiceImpl::HoldJob(grpc::CallbackServerContext* context,
                                                  const v1::JobActionRequest* request,
                                                  v1::Job* response) {
  return Change(context, request, JobVerb::kHold, response);
}

grpc::ServerUnaryReactor* JobServiceImpl::ReleaseJob(grpc::CallbackServerContext* context,
                                                     const v1::JobActionRequest* request,
                                                     v1::Job* response) {
  return Change(context, request, JobVerb::kRelease, response);
}

grpc::ServerUnaryReactor* JobServiceImpl::RequeueJob(grpc::CallbackServerContext* context,
                                                     const v1::JobActionRequest* request,
                                                     v1::Job* response) {
  return Change(context, request, JobVerb::kRequeue, response);
}

grpc::ServerUnaryReactor* JobServiceImpl::NominateClusters(
    grpc::CallbackServerContext* context, const v1::NominateClustersRequest* request,
    v1::Job* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  std::vector<std::string> clusters(request->clusters().begin(), request->clusters().end());
  service_.NominateClusters(*who, request->id(), std::move(clusters),
                            Audited(service_, *who, "nominate", "job " + request->id(),
                                    [context, reactor, response](Result<JobPtr> job) {
    Answer(context, reactor, job,
           [response](const JobPtr& changed) { ToProto(*changed, response); });
                            }));
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::ExplainJob(grpc::CallbackServerContext* context,
                                                     const v1::ExplainJobRequest* request,
                                                     v1::Explanation* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.Explain(*who, request->id()),
         [response](const JobExplanation& explained) { ToProto(explained, response); });
  return reactor;
}

grpc::ServerUnaryReactor* JobServiceImpl::ReadLog(grpc::CallbackServerContext* context,
                                                  const v1::ReadLogRequest* request,
                                                  v1::ReadLogResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  // The default size of a chunk is below the 4 MB that gRPC clients accept by default.
  LogQuery query;
  query.pod = request->pod();
  query.container = request->container();
  query.offset = request->offset();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool taken = member_readers_.Post(
      [this, context, reactor, response, who = *who, id = request->id(), query] {
    Answer(context, reactor, service_.ReadLog(who, id, query), [response](const LogChunk& chunk) {
      response->set_data(chunk.data);
      response->set_next_offset(chunk.next_offset);
      response->set_ended(chunk.ended);
    });
  });
  if (!taken) {
    const Error busy = Overloaded("too many logs are being read", limits::kMemberRestMs);
    reactor->Finish(StatusOf(context, busy));
  }
  return reactor;
}

grpc::ServerWriteReactor<v1::Event>* JobServiceImpl::WatchEvents(
    grpc::CallbackServerContext* context, const v1::WatchEventsRequest* request) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return EventHub::Refuse(StatusOf(context, who.error()));
  return events_.Open(context, *who, std::max<std::int64_t>(request->since(), 0));
}

}  // namespace muster::api
