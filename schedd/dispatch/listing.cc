// Dispatcher::Impl: lists of members, one at a time for each member. An attempt with an Ensure
// under way while the list is taken is marked as unsure: it may be missing although its object
// exists. A list also settles the Ensures whose outcome was unknown before it began: their outcome
// is reported after the list, so that the engine knows the object by then if it exists.
#include "schedd/dispatch/impl.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {

void Dispatcher::Impl::StartList(const std::string& cluster) {
  Backend* const backend = Serving(cluster);
  MemberListing& listing = listings[cluster];
  if (backend == nullptr) {
    // No backend can list it. The error ends the list at once.
    tasks.PushAlways(ListOutcome{
        cluster, Unavailable("member cluster " + cluster + " is not served by this daemon")});
    return;
  }
  if (listing.busy) {
    listing.again = true;
    return;
  }
  listing.busy = true;
  listing.unsure.clear();
  for (auto lane = lanes.begin(); lane != lanes.end(); ++lane) {
    if (lane->second.busy && lane->first.cluster == cluster) listing.unsure.insert(lane->first);
  }
  // Ensures with an unknown outcome from before this list are settled by it.
  for (const auto& [key, error] : listing.unknown) listing.unsure.erase(key);
  listing.settles = listing.unknown.size();
  backend->List(cluster,
                [self = shared_from_this(), cluster](Result<std::vector<Observation>> outcome) {
    self->tasks.PushAlways(ListOutcome{cluster, std::move(outcome)});
  });
}

// A failed list is repeated after a back-off. A list that was asked for meanwhile starts now.
void Dispatcher::Impl::Complete(ListOutcome done) {
  MemberListing& listing = listings[done.cluster];
  listing.busy = false;
  if (!done.outcome.ok()) {
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "list_failed",
        {{"cluster", done.cluster}, {"err", done.outcome.error().detail}});
    // A member that this daemon does not serve is not tried again; if that changes, AddCluster
    // orders a list.
    if (Serving(done.cluster) == nullptr) return;
    listing.again = false;
    At(BackoffMs(++listing.failures), ListTask{done.cluster});
    return;
  }
  listing.failures = 0;
  Post(ListedCommand{done.cluster,
                     std::move(done.outcome).value(),
                     {listing.unsure.begin(), listing.unsure.end()}});
  const auto settled = listing.unknown.begin() + static_cast<std::ptrdiff_t>(listing.settles);
  std::vector<std::pair<DispatchKey, Error>> answered(
      std::make_move_iterator(listing.unknown.begin()), std::make_move_iterator(settled));
  listing.unknown.erase(listing.unknown.begin(), settled);
  for (auto& [key, error] : answered) {
    Post(EnsuredCommand{key, std::move(error)});
    lanes[key].busy = false;
    Advance(key);
  }
  if (listing.again || !listing.unknown.empty()) {
    listing.again = false;
    StartList(done.cluster);
  }
}

}  // namespace muster::dispatch
