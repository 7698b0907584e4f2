// Reflector: follows one collection of a member: lists it, watches it from there, and begins again
// when it must. What the sink has been told is what the member holds, sooner or later, whatever
// fails on the way.
//
// It lists anew after 410, after a stalled stream and after the member was away: a watch from a
// version that the member does not know (it was restored from a backup) is silent for ever
// (rule D19). After a stream that merely ended it goes on from the last version seen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// A collection, all of it that the selector takes.
struct Collection {
  std::string path;  // "/apis/batch/v1/jobs"
  std::string label_selector, field_selector;
  int page = 500;
};

/// Reads a collection as it is now (a consistent read), page by page, on the client's strand.
struct ListCallbacks {
  /// Before the first page, and again when the list had to begin again (410 on a page): forget the
  /// pages so far.
  std::function<void()> on_start;
  /// The next objects, each with apiVersion and kind filled in. Keep copies.
  std::function<void(const json::array& items)> on_page;
  /// Once, last: the list's resourceVersion, or why it is not complete (ErrorOf of the answer, or
  /// what Send said).
  Callback<std::string> done;
};
/// `client` must live until `done` was called.
void ListCollection(ApiClient& client, const Collection& collection, ListCallbacks callbacks);

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted };

/// Called on the client's strand, in the member's order.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  /// A list begins: what its pages (OnPage, none or many, until OnListed) do not hold does not
  /// exist. Another OnListStart before OnListed: forget the pages since the last one.
  virtual void OnListStart() = 0;
  virtual void OnPage(const json::array& items) = 0;
  virtual void OnListed(const std::string& resource_version) = 0;
  /// The object as it is after the event; of kDeleted its last state. Keep a copy.
  virtual void OnEvent(EventType type, const json::value& object) = 0;
  /// It does not follow at present, and tries again by itself. kNotFound: the member has no such
  /// resource (a CRD that is not installed); kPermissionDenied: we may not read it.
  virtual void OnTrouble(const Error& error) = 0;
  /// All that happened before has been told: after a list, when a watch opens, at a bookmark.
  /// Comes at least once a minute while all is well.
  virtual void OnAlive() = 0;
};

struct ReflectorOptions {
  Collection collection;
  std::int64_t idle_timeout_ms = 75'000;  // a member sends bookmarks every 60 s
  std::int64_t watch_s = 300;             // asked of the member; up to twice that, by chance
  std::int64_t retry_min_ms = 200;        // doubling, with jitter
  std::int64_t retry_max_ms = 10'000;
  std::int64_t absent_retry_ms = 30'000;  // at kNotFound and kPermissionDenied
};

/// Thread-safe. The destructor stops it.
class Reflector {
 public:
  /// `client` and what `environment` names must outlive this.
  Reflector(ApiClient& client, const ClientEnvironment& environment, ReflectorOptions options,
            std::shared_ptr<ReflectorSink> sink);
  ~Reflector();
  void Start();
  /// Lists again now, whatever it is doing.
  void Relist();
  /// No call of the sink comes after it returned. May be called on the strand.
  void Stop();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::k8s
