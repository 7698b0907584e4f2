// JobService of muster.v1 over SchedulerService.
#pragma once

#include "api/grpc/call.h"
#include "api/grpc/event_hub.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/jobs.grpc.pb.h"
#include "schedd/base/limits_member_reads.h"
#include "schedd/base/readers.h"

namespace muster::api {

/// Thread-safe; both references must outlive the server.
class JobServiceImpl final : public v1::JobService::CallbackService {
 public:
  JobServiceImpl(SchedulerService& service, const Callers& callers, EventHub& events)
      : service_(service), callers_(callers), events_(events) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* BatchSubmitJobs(grpc::CallbackServerContext* context,
                                            const v1::BatchSubmitJobsRequest* request,
                                            v1::BatchSubmitJobsResponse* response) override;
  grpc::ServerReadReactor<v1::SubmitJobRequest>* StreamSubmitJobs(
      grpc::CallbackServerContext* context, v1::BatchSubmitJobsResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::JobActionRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* HoldJob(grpc::CallbackServerContext* context,
                                    const v1::JobActionRequest* request,
                                    v1::Job* response) override;
  grpc::ServerUnaryReactor* ReleaseJob(grpc::CallbackServerContext* context,
                                       const v1::JobActionRequest* request,
                                       v1::Job* response) override;
  grpc::ServerUnaryReactor* RequeueJob(grpc::CallbackServerContext* context,
                                       const v1::JobActionRequest* request,
                                       v1::Job* response) override;
  grpc::ServerUnaryReactor* NominateClusters(grpc::CallbackServerContext* context,
                                             const v1::NominateClustersRequest* request,
                                             v1::Job* response) override;
  grpc::ServerUnaryReactor* ExplainJob(grpc::CallbackServerContext* context,
                                       const v1::ExplainJobRequest* request,
                                       v1::Explanation* response) override;
  grpc::ServerUnaryReactor* ReadLog(grpc::CallbackServerContext* context,
                                    const v1::ReadLogRequest* request,
                                    v1::ReadLogResponse* response) override;
  grpc::ServerWriteReactor<v1::Event>* WatchEvents(grpc::CallbackServerContext* context,
                                                   const v1::WatchEventsRequest* request) override;

 private:
  grpc::ServerUnaryReactor* Change(grpc::CallbackServerContext* context,
                                   const v1::JobActionRequest* request, JobVerb verb,
                                   v1::Job* response);

  SchedulerService& service_;
  const Callers& callers_;
  EventHub& events_;
  // Where calls wait for members: gRPC has a handful of threads for all calls.
  Readers member_readers_{limits::kGrpcMemberThreads, limits::kGrpcMemberReadsWaiting};
};

}  // namespace muster::api
