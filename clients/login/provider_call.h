// Calls to an OpenID Connect provider: JSON documents over https (rules U54, U57).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "clients/lib/outcome.h"
#include "schedd/text/json.h"

namespace muster::client {

struct ProviderAnswer {
  int status = 0;
  json::object body;
  /// A server that is overloaded, is not ready or has failed says nothing about the login.
  bool away() const { return status == 429 || status >= 500; }
};

/// The fields of a form, not yet encoded.
using FormFields = std::vector<std::pair<std::string, std::string>>;

/// GET, or POST of a form if `form` is not null. Certificates are verified, by those of the file
/// `ca` if it is not ""; redirects are not followed; https or loopback only; at most ten seconds.
/// Failures: kUnreachable, and kBadAnswer if the answer is no JSON object. Any status is an answer.
Outcome<ProviderAnswer> CallProvider(const std::string& url, const std::string& ca,
                                     const FormFields* form);

}  // namespace muster::client
