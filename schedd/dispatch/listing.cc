// Lists of members: one at a time each, with what may have changed while it was taken marked as
// unsure.
#include "schedd/dispatch/impl.h"
#include "schedd/telemetry/log.h"

namespace muster::dispatch {

void Dispatcher::Impl::StartList(const std::string& cluster) {
  Backend* const backend = Serving(cluster);
  Listing& listing = listings[cluster];
  if (backend == nullptr) {
    // Not ours to ask: what waits for the answer is told as it is.
    tasks.PushAlways(ListDone{
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
  // Outcomes that came before this list are settled by it.
  for (const auto& [key, error] : listing.unknown) listing.unsure.erase(key);
  listing.settles = listing.unknown.size();
  backend->List(cluster,
                [self = shared_from_this(), cluster](Result<std::vector<Observation>> outcome) {
                  self->tasks.PushAlways(ListDone{cluster, std::move(outcome)});
                });
}

void Dispatcher::Impl::Complete(ListDone done) {
  Listing& listing = listings[done.cluster];
  listing.busy = false;
  if (!done.outcome.ok()) {
    calls_failed.Add();
    Log(LogLevel::kWarning, "dispatch", "list_failed",
        {{"cluster", done.cluster}, {"err", done.outcome.error().detail}});
    // The reconcile timer lists a member of another daemon again soon enough.
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
