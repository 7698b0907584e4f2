// SubmitStream: one StreamSubmitJobs call. Every message is submitted as soon as it is read.
// Reading pauses while kInFlight submissions are not durable yet, so that flow control slows a fast
// client and nothing is refused. A stream whose caller's credential ends takes no further message
// and ends when what it has read is answered (rule U25).
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "api/grpc/call.h"
#include "api/grpc/event_hub.h"
#include "api/service/scheduler_service.h"
#include "muster/v1/jobs.pb.h"
#include "schedd/base/mutex.h"

namespace muster::api {

/// Thread-safe; deletes itself in OnDone, which comes only after every submission has answered.
class SubmitStream final : public grpc::ServerReadReactor<v1::SubmitJobRequest> {
 public:
  /// Messages of one call at most; the answer holds one item for each.
  static constexpr int kMessages = 10'000;
  /// Submissions without an answer, up to which reading goes on.
  static constexpr int kInFlight = 512;

  /// The hub's ticker asks whether the stream may go on.
  SubmitStream(SchedulerService& service, const Callers& callers, EventHub& ticker,
               grpc::CallbackServerContext* context, v1::BatchSubmitJobsResponse* response);
  void OnReadDone(bool ok) override;
  void OnDone() override;

 private:
  /// What the ticker holds: it outlives the stream, and knows it no more once the stream is done.
  class Ticked;

  /// Every limits::kAskAgainMs. The stream may be gone afterwards.
  void OnTick(std::int64_t ms);
  void Submit(v1::SubmitOutcome* item) MUSTER_EXCLUDES(mutex_);
  void Answered(v1::SubmitOutcome* item, const Result<SubmittedJob>& result)
      MUSTER_EXCLUDES(mutex_);
  /// The step whose end calls Advance.
  enum class CompletedStep { kNothing, kRead, kSubmission, kAsked };
  /// Starts the next read, pauses, or ends the call, whichever is due.
  void Advance(CompletedStep ended) MUSTER_EXCLUDES(mutex_);

  SchedulerService& service_;
  const Callers& callers_;
  grpc::CallbackServerContext* const context_;
  v1::BatchSubmitJobsResponse* const response_ MUSTER_PT_GUARDED_BY(mutex_);
  v1::SubmitJobRequest request_;  // of the read under way
  auth::Principal who_;
  std::shared_ptr<Ticked> ticked_;
  std::int64_t asked_ms_ago_ = 0;  // the ticker's alone

  Mutex mutex_;
  int in_flight_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool reading_ MUSTER_GUARDED_BY(mutex_) = false;  // until the message is submitted, not only read
  bool starting_read_ MUSTER_GUARDED_BY(mutex_) = false;
  bool read_all_ MUSTER_GUARDED_BY(mutex_) = false;
  // No further message is taken, although the client may send some.
  bool revoked_ MUSTER_GUARDED_BY(mutex_) = false;
  bool finished_ MUSTER_GUARDED_BY(mutex_) = false;
  grpc::Status status_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::api
