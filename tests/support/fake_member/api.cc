#include "tests/support/fake_member/api.h"

#include <algorithm>
#include <charconv>

#include "tests/support/fake_member/patches.h"

namespace muster::fake {
namespace {

std::string Decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size()) {
      unsigned value = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

template <class Take>
void Split(std::string_view text, char separator, const Take& take) {
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    if (const std::string_view part = text.substr(0, at); !part.empty()) take(part);
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + 1);
  }
}

bool True(const std::string& text) { return text == "1" || text == "true"; }

std::string VerbOf(const std::string& method, const Route& route) {
  if (route.subresource == "log") return "log";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return route.name.empty() ? "deletecollection" : "delete";
  if (!route.name.empty()) return "get";
  return True(route.Query("watch")) ? "watch" : "list";
}

// /api/v1/namespaces/NS is both a Namespace object and the prefix of the objects in that namespace.
void ReadNames(const std::vector<std::string>& segments, std::size_t at, Route* route,
               std::string* plural) {
  const auto part = [&](std::size_t i) { return i < segments.size() ? segments[i] : ""; };
  const std::string after = part(at + 2);
  const bool inside =
      part(at) == "namespaces" && !after.empty() && after != "status" && after != "finalize";
  if (inside) {
    route->ns = part(at + 1);
    at += 2;
  }
  *plural = part(at);
  route->name = part(at + 1);
  route->subresource = part(at + 2);
}

bool IsSystemPath(const std::string& path) {
  return path == "/version" || path == "/readyz" || path == "/livez" || path == "/healthz";
}

}  // namespace

Route Api::Read(const Request& request) const {
  Route route;
  const std::size_t mark = request.target.find('?');
  route.path = request.target.substr(0, mark);
  Split(route.path, '/', [&](std::string_view part) { route.segments.push_back(Decoded(part)); });
  if (mark != std::string::npos) {
    Split(std::string_view(request.target).substr(mark + 1), '&', [&](std::string_view part) {
      const std::size_t equal = std::min(part.find('='), part.size());
      route.query[Decoded(part.substr(0, equal))] =
          equal < part.size() ? Decoded(part.substr(equal + 1)) : "";
    });
  }
  const auto& parts = route.segments;
  std::string group, version, plural;
  if (parts.size() >= 3 && parts[0] == "api") {
    version = parts[1];
    ReadNames(parts, 2, &route, &plural);
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    group = parts[1];
    version = parts[2];
    ReadNames(parts, 3, &route, &plural);
  } else {
    return route;
  }
  route.resource = cluster_.store().ResourceOf(group, plural);
  if (route.resource < 0 || ResourceOf(route).version != version ||
      !cluster_.Installed(route.resource)) {
    route.resource = -1;
    return route;
  }
  route.verb = VerbOf(request.method, route);
  return route;
}

Answer Api::Discover(const Route& route) const {
  const auto& resources = cluster_.store().resources();
  if (route.path == "/version") {
    return {200, R"({"major":"1","minor":"36","gitVersion":"v1.36.3","platform":"linux/amd64"})"};
  }
  if (IsSystemPath(route.path)) return {200, "ok", "text/plain; charset=utf-8"};
  if (route.path == "/api") return {200, R"({"kind":"APIVersions","versions":["v1"]})"};
  const auto& parts = route.segments;
  const bool core = parts.size() == 2 && parts[0] == "api";
  const bool grouped = parts.size() == 3 && parts[0] == "apis";
  if (parts.empty() || (parts[0] != "api" && parts[0] != "apis")) return NoSuchPath();
  const std::string group = parts[0] == "apis" && parts.size() > 1 ? parts[1] : "";
  bool known = false;
  json::array listed;
  json::object groups;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const Resource& one = resources[i];
    if (!cluster_.Installed(static_cast<int>(i))) continue;
    if (!one.group.empty()) {
      groups[one.group] =
          json::object{{"groupVersion", one.api_version()}, {"version", one.version}};
    }
    if (one.group != group) continue;
    known = true;
    const std::string version = core ? parts[1] : grouped ? parts[2] : "";
    if (version != one.version) continue;
    const auto add = [&](const std::string& name, const char* kind) {
      listed.push_back(
          json::object{{"name", name},
                       {"singularName", ""},
                       {"namespaced", one.namespaced},
                       {"kind", kind},
                       {"verbs", json::array{"create", "delete", "deletecollection", "get", "list",
                                             "patch", "update", "watch"}}});
    };
    add(one.plural, one.kind.c_str());
    if (one.status) add(one.plural + "/status", one.kind.c_str());
    if (one.scale) add(one.plural + "/scale", "Scale");
  }
  if (parts.size() == 1) {
    json::array all;
    for (const auto& [name, version] : groups) {
      all.push_back(json::object{
          {"name", name}, {"versions", json::array{version}}, {"preferredVersion", version}});
    }
    return {200, json::serialize(json::object{
                     {"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(all)}})};
  }
  if (!known) return NoSuchPath();
  if (listed.empty() || (!core && !grouped)) return NoSuchResource();
  return {200, json::serialize(json::object{{"kind", "APIResourceList"},
                                            {"apiVersion", "v1"},
                                            {"groupVersion", (group.empty() ? "" : group + "/") +
                                                                 (core ? parts[1] : parts[2])},
                                            {"resources", std::move(listed)}})};
}

Answer Api::Handle(const Request& request, const Route& route, Writer who) {
  if (route.resource < 0) return Discover(route);
  const Resource& resource = ResourceOf(route);
  const Key key = KeyOf(route);
  if (route.subresource == "scale" && resource.scale) return Scale(request, route, who);
  const bool status = route.subresource == "status" && resource.status;
  if (!route.subresource.empty() && !status) return NoSuchResource();
  if (route.verb == "list") return List(route);
  if (route.verb == "get") {
    const Record* record = cluster_.store().Find(key);
    return record == nullptr ? NotFound(resource, route.name) : Answer{200, *record->text};
  }
  if (route.verb == "patch") return Patch(request, route, who);
  if (route.verb == "delete") return DeleteOne(request, route, who);
  if (route.verb == "deletecollection") return DeleteAll(route, who);
  std::optional<json::object> object = ParseObject(request.body);
  if (!object) {
    return BadRequest("the object provided is unrecognized (must be of type " + resource.kind +
                      "): couldn't get version/kind; json parse error");
  }
  if (route.verb == "create") {
    if (!route.name.empty())
      return Failure(405, "MethodNotAllowed",
                     "the server does not allow this method on the requested resource");
    const std::string ns = resource.namespaced ? route.ns : "";
    const bool dry = route.Query("dryRun") == "All";
    const Answer made = cluster_.Create(route.resource, ns, std::move(*object), who, dry);
    if (resource.owned && made.ok() && !dry) {
      const json::object after = OwnObject(made.body);
      owners_.NoteUpdate(Text(after, {"metadata", "uid"}), route.Query("fieldManager"), {}, after);
    }
    return made;
  }
  if (const std::string name = Text(*object, {"metadata", "name"}); name != route.name) {
    return BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                      route.name + ")");
  }
  return Update(route, std::move(*object), who);
}

Answer Api::Update(const Route& route, json::object object, Writer who) {
  const Resource& resource = ResourceOf(route);
  const Key key = KeyOf(route);
  const bool dry = route.Query("dryRun") == "All";
  const bool noted = resource.owned && !dry && cluster_.store().Find(key) != nullptr;
  const json::object before = noted ? cluster_.store().Object(key) : json::object();
  Answer answer = cluster_.Replace(key, std::move(object), route.subresource, who, dry);
  if (noted && answer.ok()) {
    owners_.NoteUpdate(Text(before, {"metadata", "uid"}), route.Query("fieldManager"), before,
                       OwnObject(answer.body));
  }
  return answer;
}

Answer Api::Apply(const json::object& applied, const Route& route, Writer who) {
  const Resource& resource = ResourceOf(route);
  const Key key = KeyOf(route);
  const std::string manager = route.Query("fieldManager");
  const bool dry = route.Query("dryRun") == "All";
  const Record* record = cluster_.store().Find(key);
  const std::string wanted = Text(applied, {"metadata", "uid"});
  if (!wanted.empty() && (record == nullptr || record->uid != wanted)) {
    return Conflict(resource, route.name,
                    "uid mismatch: the provided object specified uid " + wanted +
                        (record == nullptr ? ", and no existing object was found"
                                           : ", and the existing object has another"));
  }
  json::object before;
  Answer answer;
  if (record == nullptr) {
    answer = cluster_.Create(route.resource, route.ns, applied, who, dry);
  } else {
    before = cluster_.store().Object(key);
    const std::vector<Cause> causes = owners_.Conflicts(record->uid, manager, before, applied);
    if (!causes.empty() && !True(route.Query("force"))) {
      json::array list;
      std::string text;
      for (const Cause& one : causes) {
        text += (text.empty() ? "" : ", ") + one.message + ": " + one.field;
        list.push_back(
            json::object{{"reason", one.reason}, {"message", one.message}, {"field", one.field}});
      }
      return Failure(409, "Conflict",
                     "Apply failed with " + std::to_string(causes.size()) + " conflict(s): " + text,
                     json::object{{"causes", std::move(list)}});
    }
    json::value target = before;
    owners_.DropLeftOut(record->uid, manager, applied, &target.get_object());
    if (Find(applied, {"metadata", "resourceVersion"}) == nullptr)
      Child(target.get_object(), "metadata").erase("resourceVersion");
    ApplyMergePatch(applied, target);
    answer = cluster_.Replace(key, std::move(target.get_object()), "", who, dry);
  }
  if (answer.ok() && !dry) {
    const std::string uid = Text(OwnObject(answer.body), {"metadata", "uid"});
    owners_.NoteApply(uid, manager, before, applied);
  }
  return answer;
}

Answer Api::Patch(const Request& request, const Route& route, Writer who) {
  const Resource& resource = ResourceOf(route);
  const Key key = KeyOf(route);
  const std::string type = request.content_type.substr(0, request.content_type.find(';'));
  const bool apply = type == "application/apply-patch+yaml";
  boost::system::error_code failed;
  const json::value patch = json::parse(request.body, failed);
  if (failed) return BadRequest("error decoding patch: " + failed.message());
  if (apply && route.Query("fieldManager").empty()) {
    return Failure(422, "Invalid",
                   "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                   "required for apply patch");
  }
  if (apply && resource.owned && patch.is_object()) return Apply(patch.get_object(), route, who);
  if (cluster_.store().Find(key) == nullptr) {
    if (!apply || !patch.is_object()) return NotFound(resource, route.name);
    return cluster_.Create(route.resource, route.ns, patch.get_object(), who);
  }
  json::value target = cluster_.store().Object(key);
  if (type == "application/json-patch+json") {
    if (!ApplyJsonPatch(patch, target) || !target.is_object()) return PatchRefused();
  } else if (apply || type == "application/merge-patch+json") {
    if (!patch.is_object()) return BadRequest("a patch of an object must be an object");
    // The resource version is a precondition only if the patch itself contains it.
    if (Find(patch.get_object(), {"metadata", "resourceVersion"}) == nullptr)
      Child(target.get_object(), "metadata").erase("resourceVersion");
    ApplyMergePatch(patch, target);
  } else {
    return Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type");
  }
  return Update(route, std::move(target.get_object()), who);
}

Answer Api::DeleteOne(const Request& request, const Route& route, Writer who) {
  DeleteOptions options;
  options.propagation = route.Query("propagationPolicy");
  if (const std::string grace = route.Query("gracePeriodSeconds"); !grace.empty())
    std::from_chars(grace.data(), grace.data() + grace.size(), options.grace_period_s);
  if (!request.body.empty()) {
    const std::optional<json::object> body = ParseObject(request.body);
    if (!body) return BadRequest("couldn't get version/kind; json parse error");
    options.uid = Text(*body, {"preconditions", "uid"});
    options.version = Text(*body, {"preconditions", "resourceVersion"});
    if (const std::string policy = Text(*body, {"propagationPolicy"}); !policy.empty())
      options.propagation = policy;
    options.grace_period_s = Number(*body, {"gracePeriodSeconds"}, options.grace_period_s);
  }
  return cluster_.Delete(KeyOf(route), options, who);
}

Answer Api::DeleteAll(const Route& route, Writer who) {
  std::string why;
  const auto labels = LabelSelector::Parse(route.Query("labelSelector"), &why);
  const auto fields = FieldSelector::Parse(route.Query("fieldSelector"), ResourceOf(route), &why);
  if (!labels || !fields) return BadRequest(why);
  std::vector<Key> chosen;
  for (const auto& [name, record] : cluster_.store().All(route.resource)) {
    if (!route.ns.empty() && name.first != route.ns) continue;
    if (labels->Matches(*record.labels) && fields->Matches(name.first, name.second, *record.text))
      chosen.push_back({route.resource, name.first, name.second});
  }
  DeleteOptions options;
  options.propagation = route.Query("propagationPolicy");
  for (const Key& key : chosen) cluster_.Delete(key, options, who);
  return {200, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"})"};
}

Answer Api::Scale(const Request& request, const Route& route, Writer who) {
  const Key key = KeyOf(route);
  const Record* record = cluster_.store().Find(key);
  if (record == nullptr) return NotFound(ResourceOf(route), route.name);
  json::object object = cluster_.store().Object(key);
  const auto shown = [&](const json::object& of) {
    json::object metadata;
    for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
      metadata[name] = Text(of, {"metadata", name});
    return json::object{
        {"kind", "Scale"},
        {"apiVersion", "autoscaling/v1"},
        {"metadata", std::move(metadata)},
        {"spec", json::object{{"replicas", Number(of, {"spec", "replicas"})}}},
        {"status", json::object{{"replicas", Number(of, {"status", "replicas"})},
                                {"selector", Text(of, {"status", "hpaPodSelector"})}}}};
  };
  if (route.verb == "get") return {200, json::serialize(shown(object))};
  boost::system::error_code failed;
  const json::value given = json::parse(request.body, failed);
  if (failed) return BadRequest("error decoding the scale");
  json::value scale = shown(object);
  if (request.content_type.starts_with("application/json-patch+json")) {
    if (!ApplyJsonPatch(given, scale)) return PatchRefused();
  } else {
    if (route.verb == "patch") Child(scale.as_object(), "metadata").erase("resourceVersion");
    ApplyMergePatch(given, scale);
  }
  Child(object, "spec")["replicas"] = Number(scale.as_object(), {"spec", "replicas"});
  for (const char* name : {"uid", "resourceVersion"})
    Child(object, "metadata")[name] = Text(scale.as_object(), {"metadata", name});
  const Answer answer = cluster_.Replace(key, std::move(object), "", who);
  return answer.ok() ? Answer{200, json::serialize(shown(OwnObject(answer.body)))} : answer;
}

}  // namespace muster::fake
