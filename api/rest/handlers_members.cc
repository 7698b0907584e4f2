// Handlers that add and remove member clusters while the daemon runs. A body is a JSON object whose
// members are read strictly: an unknown or malformed one is refused by its name. The kubeconfig is
// a secret: it goes to the service and into no answer.
#include "api/rest/handlers_members.h"

#include <utility>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"

namespace muster::rest {
namespace {

json::array TextsJson(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

// Reads the members of a request body. Keeps the first error, so that a caller may read all members
// and look at status() once.
class BodyReader {
 public:
  explicit BodyReader(const json::object& body) : body_(body) {}
  // Refuses members of the body that this request does not have.
  void Only(std::initializer_list<std::string_view> known) {
    for (const auto& entry : body_) {
      bool found = false;
      for (const std::string_view name : known) found = found || name == entry.key();
      if (!found) Fail(std::string(entry.key()), "is not known");
    }
  }
  std::string Text(const char* name) {
    const json::value* value = Find(name);
    if (value == nullptr) return "";
    if (value->is_string()) return std::string(value->get_string());
    Fail(name, "must be a string");
    return "";
  }
  std::string Required(const char* name) {
    std::string text = Text(name);
    if (text.empty()) Fail(name, "is required");
    return text;
  }
  bool Flag(const char* name) {
    const json::value* value = Find(name);
    if (value != nullptr && !value->is_bool()) Fail(name, "must be true or false");
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  LabelMap Labels(const char* name) {
    LabelMap labels;
    const json::value* value = Find(name);
    if (value == nullptr) return labels;
    if (!value->is_object()) Fail(name, "must be an object");
    if (value->is_object()) {
      for (const auto& entry : value->get_object()) {
        const std::string key(entry.key());
        if (!entry.value().is_string()) {
          Fail(std::string(name) + "." + key, "must be a string");
          continue;
        }
        labels[key] = std::string(entry.value().get_string());
      }
    }
    return labels;
  }
  const Status& status() const { return status_; }

 private:
  // Null and absent members are the same.
  const json::value* Find(const char* name) const {
    const json::value* value = body_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  void Fail(const std::string& field, const char* why) {
    if (status_.ok()) status_ = InvalidField(field, why);
  }

  const json::object& body_;
  Status status_ = Done{};
};

// The body {"name", "kubeconfig", "context", "labels", "fast", "force"}; the first two are
// required.
Result<api::NewMember> ReadNewMember(const json::value& body) {
  if (!body.is_object()) return InvalidArgument("the body must be an object");
  BodyReader reader(body.get_object());
  reader.Only({"name", "kubeconfig", "context", "labels", "fast", "force"});
  api::NewMember wanted;
  wanted.declaration.name = reader.Required("name");
  wanted.declaration.kubeconfig = reader.Required("kubeconfig");
  wanted.declaration.context = reader.Text("context");
  wanted.declaration.fast = reader.Flag("fast");
  wanted.labels = reader.Labels("labels");
  wanted.force = reader.Flag("force");
  if (!reader.status().ok()) return reader.status().error();
  return wanted;
}

// What the cluster reported. `problems` is empty unless the member was added by force.
Response AddedResponse(const api::AddedMember& added) {
  const MemberReport& report = added.report;
  json::object out{{"name", added.name},
                   {"version", report.version},
                   {"serves", TextsJson(report.serves)},
                   {"lacks", TextsJson(report.lacks)},
                   {"problems", TextsJson(report.problems)}};
  if (report.nodes >= 0) out["nodes"] = report.nodes;
  if (!report.role.empty()) out["clusterRole"] = report.role;
  return JsonResponse(out, 201);
}

// The configuration objects that stay on the cluster are named only if there are any.
Response RemovedResponse(const std::string& name, const api::RemovedMember& removed) {
  json::object out{{"name", name}};
  if (removed.objects > 0) {
    out["configurationObjects"] = removed.objects;
    out["placements"] = removed.placements;
  }
  return JsonResponse(out);
}

}  // namespace

void AddCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const auto refuse = [&respond](const Error& error) {
    respond([error] { return ErrorResponse(false, error); });
  };
  if (!TakesMedia(request))
    return respond([response = UnsupportedMedia(request)] { return response; });
  if (const Status query = QueryReader(request).Only({}); !query.ok()) return refuse(query.error());
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return refuse(body.error());
  const Result<api::NewMember> wanted = ReadNewMember(*body);
  if (!wanted.ok()) return refuse(wanted.error());
  api.service.AddMember(who, *wanted, [respond](Result<api::AddedMember> added) {
    respond([added = std::move(added)] {
      return added.ok() ? AddedResponse(*added) : ErrorResponse(false, added.error());
    });
  });
}

void RemoveCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const QueryReader query(request);
  const Status known = query.Only({"force"});
  const Result<bool> force = query.Flag("force");
  if (!known.ok() || !force.ok()) {
    return respond([error = known.ok() ? force.error() : known.error()] {
      return ErrorResponse(false, error);
    });
  }
  api.service.RemoveMember(who, request.params[0], *force,
                           [respond, name = request.params[0]](Result<api::RemovedMember> removed) {
    respond([name, removed = std::move(removed)] {
      return removed.ok() ? RemovedResponse(name, *removed) : ErrorResponse(false, removed.error());
    });
  });
}

}  // namespace muster::rest
