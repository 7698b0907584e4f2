// Api: the HTTP face of a Cluster, without sockets: paths, verbs, lists, patches, discovery.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_member/cluster.h"
#include "tests/support/fake_member/field_owners.h"

namespace muster::fake {

struct Request {
  std::string method, target;  // path and query as they came
  std::string content_type, authorization, body;
};

/// A request's path and query, taken apart.
struct Route {
  std::string path;                          // without query
  std::vector<std::string> segments;         // decoded
  std::map<std::string, std::string> query;  // decoded
  int resource = -1;                         // -1: not a resource's path
  std::string ns, name, subresource;
  /// create, get, list, watch, update, patch, delete, deletecollection; log, or "" if no resource.
  std::string verb;

  std::string Query(const std::string& name_of) const {
    const auto it = query.find(name_of);
    return it == query.end() ? "" : it->second;
  }
};

/// The events that a watch asks for.
struct WatchOrder {
  int resource = -1;
  std::string ns;  // "" = all
  LabelSelector labels;
  FieldSelector fields;
  std::int64_t after = 0;          // changes after this version
  std::vector<std::string> first;  // objects sent as ADDED before these changes
  bool initial_end = false;        // then a bookmark marks the end of the initial objects
  bool bookmarks = false;
  std::int64_t timeout_s = 0;  // 0: none asked for
  bool expired = false;        // the version is too old: one ERROR event and the end
};

/// The part of a pod's log that a request asks for.
struct LogOrder {
  Key pod;
  std::string text;
  bool follow = false;
};

/// Not thread-safe.
class Api {
 public:
  explicit Api(Cluster& cluster) : cluster_(cluster) {}

  Route Read(const Request& request) const;
  /// Answers any request except a watch or a log.
  Answer Handle(const Request& request, const Route& route, Writer who);
  /// A watch to open, or the answer that refuses it.
  std::optional<WatchOrder> Watch(const Route& route, Answer* refusal) const;
  std::optional<LogOrder> Log(const Route& route, Answer* refusal) const;

  void AppendLog(const Key& pod, const std::string& text) { logs_[pod] += text; }
  /// The log of a container so far.
  std::string LogOf(const Key& pod, const std::string& container) const;
  /// From now on all continue tokens of lists count as too old.
  void ForgetTokens() { remainders_.clear(); }

 private:
  Answer List(const Route& route);
  Answer Patch(const Request& request, const Route& route, Writer who);
  Answer Apply(const json::object& applied, const Route& route, Writer who);
  Answer Update(const Route& route, json::object object, Writer who);
  Answer DeleteOne(const Request& request, const Route& route, Writer who);
  Answer DeleteAll(const Route& route, Writer who);
  Answer Scale(const Request& request, const Route& route, Writer who);
  Answer Discover(const Route& route) const;
  Key KeyOf(const Route& route) const { return {route.resource, route.ns, route.name}; }
  const Resource& ResourceOf(const Route& route) const {
    return cluster_.store().resources()[static_cast<std::size_t>(route.resource)];
  }

  struct Remainder {
    std::int64_t version = 0;
    std::vector<TextPtr> items;
    std::size_t next = 0;
  };

  Cluster& cluster_;
  FieldOwners owners_;
  std::map<Key, std::string> logs_;
  std::map<std::int64_t, Remainder> remainders_;  // by token, the oldest first
  std::int64_t next_token_ = 1;
};

}  // namespace muster::fake
