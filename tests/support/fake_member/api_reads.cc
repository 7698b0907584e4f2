// Lists, watches and logs of a fake member's API.
#include <algorithm>
#include <charconv>

#include "schedd/text/base64.h"
#include "tests/support/fake_member/api.h"

namespace muster::fake {
namespace {

std::optional<std::int64_t> Whole(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr char kTokenExpired[] =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results.";

std::string MalformedVersion(const std::string& version) {
  return "resourceVersion: Invalid value: \"" + version + "\": strconv.ParseUint: parsing \"" +
         version + "\": invalid syntax";
}

Answer TooLarge(const std::string& asked, std::int64_t current) {
  json::object details{
      {"causes", json::array{json::object{{"reason", "ResourceVersionTooLarge"},
                                          {"message", "Too large resource version"}}}},
      {"retryAfterSeconds", 1}};
  return Failure(
      504, "Timeout",
      "Timeout: Too large resource version: " + asked + ", current: " + std::to_string(current),
      std::move(details));
}

// The lines of a text, from the end.
std::string Tail(const std::string& text, std::int64_t lines) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; lines > 0 && at > 0; --lines) {
    const std::size_t newline = text.rfind('\n', at - 1);
    if (newline == std::string::npos) return text;
    at = newline;
  }
  return lines > 0 ? text : text.substr(std::min(at + 1, text.size()));
}

}  // namespace

Answer Api::List(const Route& route) {
  const Resource& resource = ResourceOf(route);
  std::string why;
  const auto labels = LabelSelector::Parse(route.Query("labelSelector"), &why);
  const auto fields = FieldSelector::Parse(route.Query("fieldSelector"), resource, &why);
  if (!labels || !fields) return BadRequest(why);
  const std::string asked = route.Query("resourceVersion");
  const std::int64_t current = cluster_.store().version();
  if (!asked.empty()) {
    const auto version = Whole(asked);
    if (!version) return BadRequest("invalid resource version: " + MalformedVersion(asked));
    if (*version > current) return TooLarge(asked, current);
    if (route.Query("resourceVersionMatch") == "Exact" && *version != current)
      return Expired("The resourceVersion for the provided list is too old.");
  }
  Remainder rest{current, {}, 0};
  const auto collect = [&](const std::string& after) {
    for (const auto& [name, record] : cluster_.store().All(route.resource)) {
      if (!route.ns.empty() && name.first != route.ns) continue;
      if (!after.empty() && name.first + "/" + name.second <= after) continue;
      if (labels->Matches(*record.labels) && fields->Matches(name.first, name.second, *record.text))
        rest.items.push_back(record.text);
    }
  };
  bool expired = false;
  if (const std::string token = route.Query("continue"); !token.empty()) {
    const std::optional<std::string> decoded = DecodeBase64(token);
    const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
    const auto id = colon == std::string::npos ? std::nullopt : Whole(decoded->substr(0, colon));
    if (!id) return BadRequest("invalid continue token: continue key is not valid");
    if (const auto it = remainders_.find(*id); it != remainders_.end()) {
      rest = it->second;
    } else {
      expired = true;
      collect(decoded->substr(colon + 1));
    }
  } else {
    collect("");
  }
  const std::int64_t limit = Whole(route.Query("limit")).value_or(0);
  const std::size_t left = rest.items.size() - rest.next;
  const std::size_t count = expired     ? 0
                            : limit > 0 ? std::min(left, static_cast<std::size_t>(limit))
                                        : left;
  const auto keep = [&](std::size_t from) {
    const std::int64_t id = next_token_++;
    std::string last;
    if (from > 0) {
      const json::object object = OwnObject(*rest.items[from - 1]);
      last = Text(object, {"metadata", "namespace"}) + "/" + Text(object, {"metadata", "name"});
    }
    Remainder later{rest.version,
                    {rest.items.begin() + static_cast<std::ptrdiff_t>(from), rest.items.end()},
                    0};
    if (remainders_.size() > 64) remainders_.erase(remainders_.begin());
    remainders_[id] = std::move(later);
    return EncodeBase64(std::to_string(id) + ":" + last);
  };
  if (expired) {
    json::object status = OwnObject(Expired(kTokenExpired).body);
    status["metadata"] = json::object{{"continue", keep(0)}};
    return {410, json::serialize(status)};
  }
  json::object metadata{{"resourceVersion", std::to_string(rest.version)}};
  const std::size_t end = rest.next + count;
  if (end < rest.items.size()) {
    metadata["continue"] = keep(end);
    if (labels->empty() && fields->empty())
      metadata["remainingItemCount"] = rest.items.size() - end;
  }
  std::string body = R"({"kind":")" + resource.kind + R"(List","apiVersion":")" +
                     resource.api_version() + R"(","metadata":)" + json::serialize(metadata) +
                     R"(,"items":[)";
  const std::size_t skip = resource.built_in ? resource.prefix().size() : 0;
  for (std::size_t i = rest.next; i < end; ++i) {
    if (i > rest.next) body += ',';
    if (skip > 0) body += '{';
    body.append(*rest.items[i], skip);
  }
  body += "]}";
  return {200, std::move(body)};
}

std::optional<WatchOrder> Api::Watch(const Route& route, Answer* refusal) const {
  WatchOrder order;
  std::string why;
  auto labels = LabelSelector::Parse(route.Query("labelSelector"), &why);
  auto fields = FieldSelector::Parse(route.Query("fieldSelector"), ResourceOf(route), &why);
  if (!labels || !fields) {
    *refusal = BadRequest(why);
    return std::nullopt;
  }
  order.resource = route.resource;
  order.ns = route.ns;
  order.labels = std::move(*labels);
  order.fields = std::move(*fields);
  order.bookmarks = route.Query("allowWatchBookmarks") == "true";
  order.timeout_s = Whole(route.Query("timeoutSeconds")).value_or(0);
  const std::string asked = route.Query("resourceVersion");
  const bool initial = route.Query("sendInitialEvents") == "true";
  const auto version = asked.empty() ? std::optional<std::int64_t>(0) : Whole(asked);
  if (!version) {
    *refusal = Failure(500, "", MalformedVersion(asked));
    return std::nullopt;
  }
  order.after = *version;
  if (*version > 0 && !initial) {
    std::vector<ChangePtr> ignored;
    order.expired = !cluster_.store().ChangesSince(route.resource, *version, &ignored);
    return order;
  }
  order.after = cluster_.store().version();
  order.initial_end = initial;
  for (const auto& [name, record] : cluster_.store().All(route.resource)) {
    if (!order.ns.empty() && name.first != order.ns) continue;
    if (order.labels.Matches(*record.labels) &&
        order.fields.Matches(name.first, name.second, *record.text))
      order.first.push_back(*record.text);
  }
  return order;
}

std::string Api::LogOf(const Key& pod, const std::string& container) const {
  const json::object object = cluster_.store().Object(pod);
  std::string text =
      pod.name + "/" + container + " starts\non " + Text(object, {"spec", "nodeName"}) + "\n";
  if (Find(object, {"metadata", "annotations", "bed.test/log"}) != nullptr) {
    text = Text(object, {"metadata", "annotations", "bed.test/log"});
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  const auto more = logs_.find(pod);
  return more == logs_.end() ? text : text + more->second;
}

std::optional<LogOrder> Api::Log(const Route& route, Answer* refusal) const {
  const Key key = KeyOf(route);
  const Record* record = cluster_.store().Find(key);
  if (record == nullptr || cluster_.resource(key).kind != "Pod") {
    *refusal = NotFound(ResourceOf(route), route.name);
    return std::nullopt;
  }
  const json::object pod = cluster_.store().Object(key);
  std::string container = route.Query("container");
  std::vector<std::string> names;
  for (const json::value& one : Items(pod, {"spec", "containers"}))
    names.push_back(Text(one.as_object(), {"name"}));
  if (container.empty() && names.size() == 1) container = names.front();
  if (container.empty()) {
    *refusal = BadRequest("a container name must be specified for pod " + route.name);
    return std::nullopt;
  }
  if (std::find(names.begin(), names.end(), container) == names.end()) {
    *refusal = BadRequest("container " + container + " is not valid for pod " + route.name);
    return std::nullopt;
  }
  if (Text(pod, {"status", "startTime"}).empty()) {
    *refusal = BadRequest("container \"" + container + "\" in pod \"" + route.name +
                          "\" is waiting to start: ContainerCreating");
    return std::nullopt;
  }
  LogOrder order{key, LogOf(key, container), route.Query("follow") == "true"};
  if (const auto lines = Whole(route.Query("tailLines"))) order.text = Tail(order.text, *lines);
  if (const auto bytes = Whole(route.Query("limitBytes"))) {
    order.text.resize(std::min(order.text.size(), static_cast<std::size_t>(*bytes)));
    order.follow = false;
  }
  return order;
}

}  // namespace muster::fake
