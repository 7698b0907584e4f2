#include "api/grpc/submit_stream.h"

#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"
#include "schedd/shapes/parts/manifest_warnings.h"

namespace muster::api {

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
  Advance(Ended::kNothing);
}

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
      item = response_->add_items();  // stays where it is while others are added
      ++in_flight_;
    }
  }
  if (item != nullptr) Submit(item);
  Advance(Ended::kRead);
}

void SubmitStream::Submit(v1::SubmitOutcome* item) {
  ParseBudget budget = ParseBudget::ForRequest();
  Result<json::value> body = OneDocument(request_.manifest(), &budget);
  if (!body.ok()) return Answered(item, body.error());
  for (const std::string& warning : shapes::WarningsOf(*body).All()) item->add_warnings(warning);
  SubmitRequest submit{request_.namespace_(), std::move(*body), request_.idempotency_key()};
  service_.SubmitJob(who_, std::move(submit),
                     [this, item](Result<Submitted> result) { Answered(item, result); });
}

void SubmitStream::Answered(v1::SubmitOutcome* item, const Result<Submitted>& result) {
  if (result.ok()) {
    ToProto(*result->job, item->mutable_job());
  } else {
    ToProto(result.error(), item->mutable_problem());
  }
  Advance(Ended::kSubmission);
}

void SubmitStream::Advance(Ended ended) {
  bool read = false;
  grpc::Status status;
  {
    // One locked step: whoever ends the call here is the last to touch this object.
    std::lock_guard lock(mutex_);
    if (ended == Ended::kRead) reading_ = false;
    if (ended == Ended::kSubmission) --in_flight_;
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
