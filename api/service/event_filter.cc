// Use case: committed events of what the caller may see. Holds SchedulerService::EventsSince and
// MayFollowEvents.
//
// Events name what they are about as KIND/NAME or KIND/NAMESPACE/NAME (schedd/engine/context/
// object_names.h), so their namespace needs no column of its own.
#include "api/service/event_filter.h"

#include <algorithm>

#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/limits.h"

namespace muster::api {

std::string_view NamespaceOf(const Event& event) {
  const std::string_view object = event.object;
  const std::size_t kind_end = object.find('/');
  if (kind_end == std::string_view::npos) return {};
  const std::size_t ns_end = object.find('/', kind_end + 1);
  if (ns_end == std::string_view::npos) return {};
  return object.substr(kind_end + 1, ns_end - kind_end - 1);
}

Status MayListEvents(const auth::Authorizer& authorizer, const auth::Principal& who,
                     const ConfigView& config) {
  // By Allows, so that the trail has no refusal of what is permitted in one namespace.
  if (authorizer.Allows(who, auth::Verb::kList, EventsIn(""))) return Done{};
  const bool somewhere =
      std::any_of(config.namespaces.begin(), config.namespaces.end(), [&](const auto& entry) {
        return authorizer.Allows(who, auth::Verb::kList, EventsIn(entry.first));
      });
  return somewhere ? Status(Done{}) : authorizer.Authorize(who, auth::Verb::kList, EventsIn(""));
}

bool EventFilter::Shows(std::string_view ns, std::int64_t config_version) {
  if (version_ != config_version) {
    version_ = config_version;
    answers_.clear();
    all_ = authorizer_.Allows(who_, auth::Verb::kList, EventsIn(""));
  }
  if (all_) return true;
  if (ns.empty()) return false;
  const auto known = answers_.find(ns);
  if (known != answers_.end()) return known->second;
  const bool shown = authorizer_.Allows(who_, auth::Verb::kList, EventsIn(ns));
  answers_.emplace(ns, shown);
  return shown;
}

Status SchedulerService::MayFollowEvents(const auth::Principal& who) const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  return MayListEvents(authorizer_, who, *(*view)->config);
}

// A page that holds fewer events than were read is not the last one: `through` and `more` tell how
// far the store was read.
Result<EventPage> SchedulerService::EventsSince(const auth::Principal& who, std::int64_t since,
                                                std::size_t limit) const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const Status allowed = MayListEvents(authorizer_, who, *(*view)->config);
  if (!allowed.ok()) return allowed.error();
  const std::size_t size = std::min(limit, limits::kPageItemsMax);
  Result<std::vector<Event>> read = store_.ReadEvents(since, JobId{}, size);
  if (!read.ok()) return read.error();
  EventPage page;
  // An event with a lower number than these may not be durable yet.
  const bool cut = std::erase_if(*read, [last = (*view)->last_seq](const Event& event) {
    return event.seq > last;
  }) > 0;
  page.more = !cut && read->size() >= size;
  page.through = read->empty() ? since : read->back().seq;
  EventFilter filter(authorizer_, who);
  const std::int64_t version = (*view)->config->version;
  for (Event& event : *read) {
    if (filter.Shows(NamespaceOf(event), version)) page.events.push_back(std::move(event));
  }
  return page;
}

}  // namespace muster::api
