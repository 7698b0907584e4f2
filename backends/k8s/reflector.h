// Reflector: follows one collection of a member: lists it, watches it from there, and begins again
// when that is necessary. Whatever fails on the way, the sink's picture becomes that of the member
// again.
//
// It lists anew after 410, after a stalled stream and after the member was away: a watch from a
// version that the member does not know (it was restored from a backup) would be silent for ever
// (rule D19). After a stream that merely ended it continues from the last version seen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/list_collection.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::k8s {

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted };

/// Called on the client's strand, in the member's order.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  /// A list begins. Objects that are in none of its pages (OnPage, any number of times, until
  /// OnListed) do not exist. Another OnListStart before OnListed voids the pages since the last
  /// one.
  virtual void OnListStart() = 0;
  virtual void OnPage(const json::array& items) = 0;
  virtual void OnListed(const std::string& resource_version) = 0;
  /// The object after the event; for kDeleted its last state. Valid only during the call.
  virtual void OnEvent(EventType type, const json::value& object) = 0;
  /// The reflector cannot follow at present; it tries again by itself. kNotFound: the member has no
  /// such resource (its CRD is not installed); kPermissionDenied: we may not read it.
  virtual void OnTrouble(const Error& error) = 0;
  /// All earlier changes have been reported: after a list, when a watch opens, at a bookmark. Comes
  /// at least once a minute while nothing is wrong.
  virtual void OnAlive() = 0;
};

struct ReflectorOptions {
  Collection collection;
  /// A stream without data for so long has stalled; a member sends bookmarks every 60 s.
  std::int64_t idle_timeout_ms = 75'000;
  /// How long the member shall keep a watch open; a random time up to as long is added.
  std::int64_t watch_s = 300;
  /// The pause after a failure, doubling with jitter up to the maximum.
  std::int64_t retry_min_ms = 200;
  std::int64_t retry_max_ms = 10'000;
  /// The pause after kNotFound and kPermissionDenied.
  std::int64_t absent_retry_ms = 30'000;
};

/// Thread-safe. The destructor stops it.
class Reflector {
 public:
  /// `client` and the members of `environment` must outlive it.
  Reflector(ApiClient& client, const ClientEnvironment& environment, ReflectorOptions options,
            std::shared_ptr<ReflectorSink> sink);
  ~Reflector();
  void Start();
  /// Lists again now, whatever it is doing.
  void Relist();
  /// No call of the sink comes after this has returned. May be called on the strand.
  void Stop();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::k8s
