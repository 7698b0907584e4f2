// ObjectCall: the base of the calls about one configuration object: resolves its kind, sends
// requests to its path, and sorts the answers. Runs on the session's strand.
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

  /// A request with a body; `dry` says that it changes nothing.
  struct WriteRequest {
    const char* method;
    const char* type;
    std::string body, query;
    bool dry = false;
  };
  using AnswerHandler = std::function<void(const ApiResponse&)>;

  /// Sets kind_ and calls `then`, or calls Unserved or Lost.
  void Resolve(std::function<void()> then);
  void Get(AnswerHandler then);
  /// `path` is that of the object, or of its collection for a creation.
  void Send(WriteRequest write, std::string path, AnswerHandler then);
  std::string Path() const;
  std::string CollectionOfIt() const;
  /// Null once the session has ended.
  ObjectBook* book() const { return session_->objects().get(); }

  /// The member does not serve the kind, or serves it with another scope.
  virtual void Unserved(const std::string& sentence) = 0;
  /// The member did not answer: kUnavailable, or kUnknown if something may have been written.
  virtual void Lost(Error error) = 0;

  const SessionPtr session_;
  const ResourceRef ref_;
  ServedKind kind_;

 private:
  void Request(ApiRequest request, bool writes, AnswerHandler then);
};

/// True if a 404 means that the kind is not served any more, not that the object is absent.
bool IsNoSuchPath(const ApiResponse& response);

/// True if the member refuses for good, so that its answer is the outcome. False for answers after
/// which it is asked again: 401, 429 and most 5xx.
bool IsRefusal(const ApiResponse& response);

/// True if a server-side apply failed because a field of the manifest has no schema. The API server
/// answers that with a 500 without a reason.
bool IsOfNoSchema(const ApiResponse& response);

/// Whose fields a server-side apply was refused for.
enum class ApplyConflict : std::uint8_t { kNone, kOwn, kOthers };
/// kOwn: only for fields that Muster itself has written in another way (client-side).
ApplyConflict ConflictIn(const ApiResponse& response);

/// An answer that is no refusal, as an error of MemberObjects.
Error TroubleOf(const ApiResponse& response, bool writes);

/// The object in an answer; nothing if there is none.
std::optional<json::object> ObjectOf(const ApiResponse& response);

}  // namespace muster::k8s
