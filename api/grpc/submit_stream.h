// SubmitStream: one StreamSubmitJobs call. Every message is submitted as soon as it is read.
// Reading pauses while kInFlight submissions are not durable yet, so that flow control slows a fast
// client and nothing is refused.
#pragma once

#include <grpcpp/grpcpp.h>

#include <mutex>

#include "api/service/scheduler_service.h"
#include "muster/v1/jobs.pb.h"

namespace muster::api {

/// Thread-safe; deletes itself in OnDone, which comes only after every submission has answered.
class SubmitStream final : public grpc::ServerReadReactor<v1::SubmitJobRequest> {
 public:
  /// Messages of one call at most; the answer holds one item for each.
  static constexpr int kMessages = 10'000;
  /// Submissions without an answer, up to which reading goes on.
  static constexpr int kInFlight = 512;

  SubmitStream(SchedulerService& service, grpc::CallbackServerContext* context,
               v1::BatchSubmitJobsResponse* response);
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void Submit(v1::SubmitOutcome* item);
  void Answered(v1::SubmitOutcome* item, const Result<SubmittedJob>& result);
  /// The step whose end calls Advance.
  enum class CompletedStep { kNothing, kRead, kSubmission };
  /// Starts the next read, pauses, or ends the call, whichever is due.
  void Advance(CompletedStep ended);

  SchedulerService& service_;
  grpc::CallbackServerContext* const context_;
  v1::BatchSubmitJobsResponse* const response_;
  v1::SubmitJobRequest request_;  // of the read under way
  auth::Principal who_;

  std::mutex mutex_;
  int in_flight_ = 0;
  bool reading_ = false;  // until the message is submitted, not only read
  bool read_all_ = false;
  bool finished_ = false;
  grpc::Status status_;
};

}  // namespace muster::api
