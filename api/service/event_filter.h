// EventFilter: which events a follower sees: those of jobs and objects of the namespaces in which
// it may list muster.io/events, and with the right to the whole cluster all of them (rule U24).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/auth/authorizer.h"
#include "schedd/model/config.h"
#include "schedd/model/event.h"

namespace muster::api {

/// The namespace of the job or object that an event is about; "" for an object of the cluster.
std::string_view NamespaceOf(const Event& event);

/// Done if there is a namespace, or the whole cluster, in which `who` may list events. Thread-safe.
Status MayListEvents(const auth::Authorizer& authorizer, const auth::Principal& who,
                     const ConfigView& config);

/// Not thread-safe. `authorizer` must outlive it. Remembers its answers until the configuration
/// changes, so that an event costs a look-up.
class EventFilter {
 public:
  EventFilter(const auth::Authorizer& authorizer, auth::Principal who)
      : authorizer_(authorizer), who_(std::move(who)) {}
  /// `config_version` is that of the published view (ConfigView::version).
  bool Shows(std::string_view ns, std::int64_t config_version);

 private:
  const auth::Authorizer& authorizer_;
  const auth::Principal who_;
  std::int64_t version_ = -1;
  bool all_ = false;
  std::map<std::string, bool, std::less<>> answers_;  // by namespace
};

}  // namespace muster::api
