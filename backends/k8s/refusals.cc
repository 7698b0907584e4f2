// A right that is known to be missing is not asked about here: the session asks about it again, and
// an attempt that comes right before it is granted must not be failed by an answer right after.
#include "backends/k8s/refusals.h"

#include <utility>

namespace muster::k8s {
namespace {

Error Lacks(const Session& session, const Permission& right) {
  return Unavailable("member cluster " + session.member() + ": " +
                     MissingRights::Sentence({right}));
}

}  // namespace

Permission RightTo(const std::string& verb, std::string_view api_version, std::string_view resource,
                   const std::string& ns) {
  const std::size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  return {std::string(group), std::string(resource), "", verb, ns};
}

void JudgeRefusal(const SessionPtr& session, const Permission& right, Error refusal,
                  std::function<void(Error)> then) {
  if (session->rights().Contains(right)) return then(Lacks(*session, right));
  AskRight(
      session->client(), right,
      [session, right, refusal = std::move(refusal), then = std::move(then)](RightAnswer answer) {
    switch (answer) {
      case RightAnswer::kGranted:
      case RightAnswer::kNotTold:
        return then(refusal);
      case RightAnswer::kMissing:
        session->NoteMissing(right);
        return then(Lacks(*session, right));
      case RightAnswer::kUnanswered:
        return then(Unavailable(refusal.detail));
    }
      });
}

}  // namespace muster::k8s
