// DependentsCall: makes the dependents of an attempt exist, one after another.
//
// For each: create it; if it exists, read it, compare, and replace it (PUT with the resourceVersion
// that was read, so a concurrent change is a conflict and leads to another read). At most
// kDependentTries rounds each.
//
// Ownership. The attempt's object is added to ownerReferences, so that the garbage collector
// deletes the dependent with its last owner. Jobs may share a ConfigMap; beyond kOwnersMax owners
// the list is cleared and the annotation `muster.io/shared` set, and the object stays for good.
//
// Writing the same content twice does no harm, so a write without an answer is simply tried again:
// kUnknown becomes kUnavailable.
#include "backends/k8s/dependents.h"

#include <utility>

#include "backends/k8s/api_calls.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/patches.h"
#include "backends/k8s/refusals.h"
#include "backends/k8s/status/reader.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/base64.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::k8s {
namespace {

constexpr int kDependentTries = 5;
// With more owners than this a shared dependent loses all of them and stays on the member.
constexpr std::size_t kOwnersMax = 32;
constexpr std::string_view kSharedAnnotation = "muster.io/shared";

// The data of a ConfigMap or Secret in comparable form: a Secret's stringData is encoded as the API
// server does it. Of a Service, whose other fields the API server fills in, the selector.
json::object ContentOf(const json::object& object) {
  json::object content;
  for (const char* key : {"data", "binaryData"}) {
    const json::object& part = ObjectOrEmpty(object, key);
    if (!part.empty()) content[key] = part;
  }
  const json::object& selector = ObjectOrEmpty(object, {"spec", "selector"});
  if (!selector.empty()) content["selector"] = selector;
  const json::object& plain = ObjectOrEmpty(object, "stringData");
  if (!plain.empty()) {
    json::object& data = MakeObjectAt(content, "data");
    for (const auto& [key, text] : plain) {
      if (text.is_string()) data[key] = EncodeBase64(text.get_string());
    }
  }
  return content;
}

bool IsShared(const json::object& object) {
  return Reader(object)["metadata"]["annotations"][kSharedAnnotation].View() == "true";
}

class DependentsCall : public std::enable_shared_from_this<DependentsCall> {
 public:
  DependentsCall(SessionPtr session, std::vector<ManifestText> dependents, RemoteObject owner,
                 std::string owner_uid, Callback<Done> done)
      : session_(std::move(session)),
        dependents_(std::move(dependents)),
        owner_(std::move(owner)),
        owner_uid_(std::move(owner_uid)),
        done_(std::move(done)) {}

  // Prepares the next dependent's manifest, without the fields that the API server owns, and
  // creates it.
  void Next() {
    if (at_ >= dependents_.size()) return done_(Done{});
    tries_ = 0;
    auto parsed = ParseJson(dependents_[at_].json);
    if (!parsed.ok() || !parsed->is_object())
      return Fail(Error{Code::kInvalidArgument, "is no object"});
    wanted_ = std::move(parsed->get_object());
    json::object& metadata = MakeObjectAt(wanted_, "metadata");
    for (const char* ours : {"uid", "resourceVersion", "creationTimestamp", "ownerReferences"}) {
      metadata.erase(ours);
    }
    metadata["namespace"] = dependents_[at_].ns;
    MakeObjectAt(metadata, "labels")[kInstanceLabel] = session_->instance();
    if (!owner_uid_.empty()) AddOwner(owner_, owner_uid_, &wanted_);
    resource_ = DependentResource(dependents_[at_].api_version, dependents_[at_].kind);
    if (resource_.empty())
      return Fail(Error{Code::kInvalidArgument, "is of a kind not known here"});
    Create();
  }

 private:
  void Create() {
    Send("POST", CollectionPath("v1", resource_, dependents_[at_].ns), WriteJson(wanted_),
         &DependentsCall::Created);
  }

  void Created(const ApiResponse& answer) {
    if (answer.ok()) return Advance();
    if (ReadApiStatus(answer).reason == "AlreadyExists") return Look();
    if (!LacksNamespace(answer)) return Refused("create", answer);
    EnsureNamespace(session_, dependents_[at_].ns, [self = shared_from_this()](Result<Done> made) {
      if (!made.ok()) return self->Fail(made.error());
      self->Again(&DependentsCall::Create);
    });
  }

  void Look() { Send("GET", Path(), "", &DependentsCall::Found); }

  // The dependent exists: takes a foreign one with the same content, brings ours up to date.
  void Found(const ApiResponse& answer) {
    if (answer.status == 404) return Again(&DependentsCall::Create);
    if (!answer.ok()) return Refused("get", answer);
    auto body = ParseMemberJson(answer.body);
    if (!body.ok() || !body->is_object())
      return Fail(body.ok() ? Internal("is no object") : body.error());
    json::object live = body->get_object();
    const Reader labels = Reader(live)["metadata"]["labels"];
    const bool same = ContentOf(live) == ContentOf(wanted_);
    if (labels[kInstanceLabel].View() != session_->instance()) {
      if (same) return Advance();
      return Fail(Error{Code::kAlreadyExists,
                        "is on the member already with other content, and not by Muster"});
    }
    const bool owned = owner_uid_.empty() || IsShared(live) || !Own(&live);
    if (same && owned) return Advance();
    for (const char* key : {"data", "binaryData", "stringData"}) live.erase(key);
    for (auto& [key, value] : ContentOf(wanted_)) {
      json::object& place = key == "selector" ? MakeObjectAt(live, "spec") : live;
      place[key] = value;
    }
    Send("PUT", Path(), WriteJson(live), &DependentsCall::Replaced);
  }

  // Adds the owner. True if that changed `live`.
  bool Own(json::object* live) {
    if (!AddOwner(owner_, owner_uid_, live)) return false;
    json::object& metadata = MakeObjectAt(*live, "metadata");
    if (metadata["ownerReferences"].as_array().size() > kOwnersMax) {
      metadata["ownerReferences"].emplace_array();
      MakeObjectAt(metadata, "annotations")[kSharedAnnotation] = "true";
    }
    return true;
  }

  void Replaced(const ApiResponse& answer) {
    if (answer.ok()) return Advance();
    if (answer.status == 409 || answer.status == 404) return Again(&DependentsCall::Look);
    Refused("update", answer);
  }

  // The answer to a request with this verb is an error. No refused read is a refusal of the job.
  void Refused(const std::string& verb, const ApiResponse& answer) {
    if (answer.status != 403) return Fail(ErrorOf(answer));
    JudgeRefusal(session_, RightTo(verb, "v1", resource_, dependents_[at_].ns), ErrorOf(answer),
                 [self = shared_from_this(), read = verb == "get"](Error judged) {
      if (read) judged.code = Code::kUnavailable;
      self->Fail(std::move(judged));
    });
  }

  // Repeats a step, unless the object changes too often.
  void Again(void (DependentsCall::*step)()) {
    if (++tries_ > kDependentTries) return Fail(Unavailable("changes all the time"));
    (this->*step)();
  }

  void Advance() {
    ++at_;
    Next();
  }

  std::string Path() const {
    return ObjectPath("v1", resource_, dependents_[at_].ns, dependents_[at_].name);
  }

  void Send(const char* method, std::string path, std::string body,
            void (DependentsCall::*then)(const ApiResponse&)) {
    ApiRequest request;
    request.method = method;
    request.target = std::move(path);
    if (!body.empty()) request.content_type = kJson;
    request.body = std::move(body);
    request.urgency = Urgency::kRelease;
    request.timeout_ms = kCallMs;
    session_->client().Send(std::move(request),
                            [self = shared_from_this(), then](Result<ApiResponse> answer) {
      // Repeating such a write is harmless: unknown counts as not done.
      if (!answer.ok()) {
        Error error = answer.error();
        if (error.code == Code::kUnknown) error.code = Code::kUnavailable;
        return self->Fail(std::move(error));
      }
      (self.get()->*then)(*answer);
    });
  }

  void Fail(Error error) {
    const ManifestText& one = dependents_[at_];
    error.detail = one.kind + " " + one.ns + "/" + one.name + ": " + error.detail;
    done_(std::move(error));
  }

  const SessionPtr session_;
  const std::vector<ManifestText> dependents_;
  const RemoteObject owner_;
  const std::string owner_uid_;
  const Callback<Done> done_;
  std::size_t at_ = 0;
  int tries_ = 0;
  json::object wanted_;
  std::string_view resource_;
};

}  // namespace

void EnsureDependents(const SessionPtr& session, std::vector<ManifestText> dependents,
                      const RemoteObject& owner, const std::string& owner_uid,
                      Callback<Done> done) {
  std::make_shared<DependentsCall>(session, std::move(dependents), owner, owner_uid,
                                   std::move(done))
      ->Next();
}

void EnsureNamespace(const SessionPtr& session, const std::string& ns, Callback<Done> done) {
  ApiRequest request;
  request.method = "POST";
  request.target = CollectionPath("v1", "namespaces", "");
  request.content_type = kJson;
  request.body = WriteJson(json::object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata", {{"name", ns}, {"labels", {{kInstanceLabel, session->instance()}}}}}});
  request.urgency = Urgency::kCreate;
  request.timeout_ms = kCallMs;
  session->client().Send(std::move(request),
                         [session, ns, done = std::move(done)](Result<ApiResponse> answer) {
    if (!answer.ok()) return done(Unavailable(answer.error().detail));
    if (answer->ok() || ReadApiStatus(*answer).reason == "AlreadyExists") return done(Done{});
    const auto fail = [ns, done](Error error) {
      error.detail =
          "namespace " + ns + " does not exist there and cannot be made: " + error.detail;
      done(std::move(error));
    };
    if (answer->status != 403) return fail(ErrorOf(*answer));
    JudgeRefusal(session, RightTo("create", "v1", "namespaces", ""), ErrorOf(*answer), fail);
  });
}

bool LacksNamespace(const ApiResponse& response) {
  if (response.status != 404) return false;
  const auto body = ParseMemberJson(response.body);
  return body.ok() && Reader(&*body)["details"]["kind"].View() == "namespaces";
}

}  // namespace muster::k8s
