// Reads and submissions overlap: OnReadDone comes on gRPC's thread, the answer of a submission on
// the engine's. Both end in Advance, which decides under one lock what comes next, so that exactly
// one read is under way and the call is finished exactly once, when all messages are read and all
// submissions have answered. Items of the response are added under the lock; their addresses do not
// change, so each submission fills its own item without it.
#include "api/grpc/submit_stream.h"

#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "schedd/shapes/parts/manifest_warnings.h"

namespace muster::api {

// A caller that is refused gets its status through the same path: nothing is read and the call
// ends.
SubmitStream::SubmitStream(SchedulerService& service, grpc::CallbackServerContext* context,
                           v1::BatchSubmitJobsResponse* response)
    : service_(service), context_(context), response_(response) {
  Result<auth::Principal> who = CallerOf(*context, service);
  if (who.ok()) {
    who_ = std::move(*who);
  } else {
    read_all_ = true;
    status_ = StatusOf(context, who.error());
  }
  Advance(CompletedStep::kNothing);
}

// gRPC has read a message into request_, or (not ok) the client has sent its last one.
void SubmitStream::OnReadDone(bool ok) {
  v1::SubmitOutcome* item = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!ok) {
      read_all_ = true;
    } else if (response_->items_size() >= kMessages) {
      read_all_ = true;
      status_ = {grpc::StatusCode::RESOURCE_EXHAUSTED, "one stream takes at most " +
                                                           std::to_string(kMessages) +
                                                           " jobs; the first ones were submitted"};
    } else {
      item = response_->add_items();
      ++in_flight_;
    }
  }
  if (item != nullptr) Submit(item);
  Advance(CompletedStep::kRead);
}

// Parses and submits the message in request_ before the next read overwrites it.
void SubmitStream::Submit(v1::SubmitOutcome* item) {
  ParseBudget budget = ParseBudget::ForRequest();
  Result<json::value> body = OneDocument(request_.manifest(), &budget);
  if (!body.ok()) return Answered(item, body.error());
  for (const std::string& warning : shapes::WarningsOf(*body).All()) item->add_warnings(warning);
  SubmitRequest submit{request_.namespace_(), std::move(*body), request_.idempotency_key()};
  service_.SubmitJob(who_, std::move(submit),
                     [this, item](Result<SubmittedJob> result) { Answered(item, result); });
}

void SubmitStream::Answered(v1::SubmitOutcome* item, const Result<SubmittedJob>& result) {
  if (result.ok()) {
    ToProto(*result->job, item->mutable_job());
  } else {
    ToProto(result.error(), item->mutable_problem());
  }
  Advance(CompletedStep::kSubmission);
}

void SubmitStream::Advance(CompletedStep ended) {
  bool read = false;
  grpc::Status status;
  {
    // After Finish the object may be deleted, so the thread that sets finished_ touches nothing of
    // it after this block but Finish itself.
    std::lock_guard lock(mutex_);
    if (ended == CompletedStep::kRead) reading_ = false;
    if (ended == CompletedStep::kSubmission) --in_flight_;
    if (finished_ || reading_) return;
    if (!read_all_) {
      if (in_flight_ >= kInFlight) return;
      read = reading_ = true;
    } else {
      if (in_flight_ > 0) return;
      finished_ = true;
      status = status_;
    }
  }
  if (read) {
    StartRead(&request_);
  } else {
    Finish(status);
  }
}

}  // namespace muster::api
