// ObjectCall: what the calls for one configuration object share: its kind is found, then requests
// go to its path, one after another. Runs on the session's strand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/k8s/object_book.h"
#include "backends/k8s/session.h"
#include "schedd/model/resource_ref.h"

namespace muster::k8s {

class ObjectCall : public std::enable_shared_from_this<ObjectCall> {
 public:
  virtual ~ObjectCall() = default;

 protected:
  ObjectCall(SessionPtr session, ResourceRef ref)
      : session_(std::move(session)), ref_(std::move(ref)) {}

  struct Write {
    const char* method;
    const char* type;
    std::string body, query;
    bool dry = false;
  };
  using Then = std::function<void(const ApiResponse&)>;

  /// Calls `then` when kind_ is known; Unserved or Lost otherwise.
  void Resolve(std::function<void()> then);
  void Get(Then then);
  /// `path`: of the object, or of its collection where one is made.
  void Send(Write write, std::string path, Then then);
  std::string Path() const;
  std::string CollectionOfIt() const;
  /// Null once the session has ended.
  ObjectBook* book() const { return session_->objects().get(); }

  /// The member does not serve the kind, or in another way.
  virtual void Unserved(const std::string& sentence) = 0;
  /// It did not answer: kUnavailable, or kUnknown if something may have been written.
  virtual void Lost(Error error) = 0;

  const SessionPtr session_;
  const ResourceRef ref_;
  ServedKind kind_;

 private:
  void Request(ApiRequest request, bool writes, Then then);
};

/// True if a 404 is not about the object: its kind is not served there any more.
bool IsNoSuchPath(const ApiResponse& response);

/// Whether the member refuses for good: what it says is the outcome. Otherwise (429, 502 to 504,
/// 401) it is to be asked again.
bool IsRefusal(const ApiResponse& response);

/// Server-side apply knows a field of the manifest not: the API server has its own code for that, a
/// 500 without a reason.
bool IsOfNoSchema(const ApiResponse& response);

/// What not to take for an answer, as an error of MemberObjects.
Error TroubleOf(const ApiResponse& response, bool writes);

/// The object in an answer; nothing if there is none.
std::optional<json::object> ObjectOf(const ApiResponse& response);

}  // namespace muster::k8s
