// Answers of an API server, errors as Kubernetes prints them.
#pragma once

#include <string>
#include <vector>

#include "tests/support/fake_member/json_tools.h"
#include "tests/support/fake_member/resources.h"

namespace muster::fake {

struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  int retry_after_s = -1;  // -1: no such header
  bool ok() const { return status < 300; }
};

/// One field that is wrong.
struct Cause {
  std::string reason, message, field;
};

/// A Status of failure. `details` may be empty, then there are none.
Answer Failure(int code, const std::string& reason, const std::string& message,
               json::object details = {});
Answer BadRequest(const std::string& message);
Answer Unauthorized();
Answer NotFound(const Resource& resource, const std::string& name);
Answer AlreadyExists(const Resource& resource, const std::string& name);
Answer Conflict(const Resource& resource, const std::string& name, const std::string& why);
Answer Forbidden(const Resource& resource, const std::string& name, const std::string& why);
Answer Invalid(const Resource& resource, const std::string& name, const std::vector<Cause>& causes);
/// The answer to a JSON patch that cannot be applied, or whose test operation failed: an API server
/// gives no details.
Answer PatchRefused();
/// "the server could not find the requested resource".
Answer NoSuchResource();
/// No such API group, as plain text.
Answer NoSuchPath();
Answer Expired(const std::string& message);
Answer Succeeded(const Resource& resource, const std::string& name, const std::string& uid);

}  // namespace muster::fake
