// What a 403 of a member means: the object is refused (by an admission plugin, a webhook, a quota),
// which is the job's affair, or the user of the kubeconfig may not do such a thing there, which is
// the member's. Runs on the session's strand.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "backends/k8s/session.h"

namespace muster::k8s {

/// `verb` on `resource` of `api_version`, in the namespace `ns` ("": none).
Permission RightTo(const std::string& verb, std::string_view api_version, std::string_view resource,
                   const std::string& ns);

/// `refusal` is the error of a 403 to a request that needed `right`. `then` gets it unchanged if
/// the object was refused; kUnavailable if the user lacks the right, which the session's facts then
/// say, or if the member does not answer that question now.
void JudgeRefusal(const SessionPtr& session, const Permission& right, Error refusal,
                  std::function<void(Error)> then);

}  // namespace muster::k8s
