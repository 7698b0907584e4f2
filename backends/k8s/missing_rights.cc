// The question is a SelfSubjectAccessReview, which Kubernetes permits to every user that it knows.
#include "backends/k8s/missing_rights.h"

#include <algorithm>
#include <utility>

#include "backends/k8s/api_calls.h"
#include "schedd/base/limits_member_rights.h"

namespace muster::k8s {
namespace {

// A member that is overloaded, or does not know the user at the moment, has not refused to tell.
bool RefusesToTell(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

}  // namespace

void AskRight(ApiClient& client, const Permission& right, std::function<void(RightAnswer)> then) {
  ApiRequest request;
  request.method = "POST";
  request.target = std::string(kAccessReviews);
  request.content_type = kJson;
  request.body = AccessReview(right);
  request.timeout_ms = kCallMs;
  client.Send(std::move(request), [then = std::move(then)](Result<ApiResponse> answer) {
    if (!answer.ok()) return then(RightAnswer::kUnanswered);
    if (answer->ok())
      return then(IsAllowed(answer->body) ? RightAnswer::kGranted : RightAnswer::kMissing);
    then(RefusesToTell(answer->status) ? RightAnswer::kNotTold : RightAnswer::kUnanswered);
  });
}

bool MissingRights::Contains(const Permission& right) const {
  return std::find(missing_.begin(), missing_.end(), right) != missing_.end();
}

void MissingRights::Note(const Permission& right) {
  if (missing_.size() < limits::kMissingRights && !Contains(right)) missing_.push_back(right);
}

std::string MissingRights::Sentence(const std::vector<Permission>& rights) {
  return "Muster's user lacks permissions there: " + DescribePermissions(rights);
}

// One that cannot be asked about any more is dropped: the next refusal says more.
void MissingRights::AskAgain(ApiClient& client, Monotonic now, std::int64_t every_ns,
                             const std::function<void()>& granted) {
  if (missing_.empty() || now - asked_ < every_ns) return;
  asked_ = now;
  for (const Permission& right : std::vector<Permission>(missing_)) {
    AskRight(client, right, [this, right, granted](RightAnswer answer) {
      if (answer == RightAnswer::kMissing || answer == RightAnswer::kUnanswered) return;
      std::erase(missing_, right);
      granted();
    });
  }
}

}  // namespace muster::k8s
