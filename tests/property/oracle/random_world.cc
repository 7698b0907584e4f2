#include "tests/property/oracle/random_world.h"

#include <algorithm>

#include "tests/property/oracle/oracle.h"

namespace muster::oracle {

int Draw::Between(int low, int high) {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return low + static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(high - low + 1));
}

namespace {

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : draw_(seed) {}

  World Make() {
    MakeSettings();
    world_.resources = {"cpu"};
    if (draw_.Percent(60)) world_.resources.push_back("gpu");
    for (int i = draw_.Between(1, 3); i > 0; --i) MakeFlavor();
    for (int i = draw_.Between(0, 5); i > 0; --i) MakeCohort();
    for (int i = draw_.Percent(10) ? 1 : draw_.Between(2, 6); i > 0; --i) MakeQueue();
    std::vector<int> times;
    for (int i = draw_.Percent(20) ? draw_.Between(2, 5) : draw_.Between(6, 12); i > 0; --i)
      times.push_back(i * 10);
    for (std::size_t i = times.size(); i > 1; --i) {
      std::swap(times[i - 1],
                times[static_cast<std::size_t>(draw_.Between(0, static_cast<int>(i) - 1))]);
    }
    for (const int time : times) MakeWorkload(time);
    TieInsideQueues();
    GiveQuota();
    Enqueue(&world_);
    return std::move(world_);
  }

 private:
  void MakeSettings() {
    Settings& settings = world_.settings;
    settings.fair = draw_.Percent(50);
    const int strategies = draw_.Between(0, 2);
    if (strategies == 1) settings.strategies = {Strategy::kFinalShare};
    if (strategies == 2) settings.strategies = {Strategy::kInitialShare};
    settings.preempt_within_nominal = draw_.Percent(85);
    settings.prioritize_non_borrowing = draw_.Percent(85);
    settings.recompute_on_overlap = draw_.Percent(85);
    settings.hashing = draw_.Percent(85);
    settings.partial_admission = draw_.Percent(90);
    bounds_ = draw_.Percent(70) ? 30 : 0;
    preempting_ = draw_.Percent(85);
    most_ = draw_.Between(3, 10);
  }

  void MakeFlavor() {
    Flavor flavor;
    flavor.name = "f" + std::to_string(world_.flavors.size());
    if (draw_.Percent(50)) flavor.labels["kind"] = flavor.name;
    if (draw_.Percent(15)) flavor.taint = "spot";
    world_.flavors.push_back(flavor);
  }

  Limits MakeLimits(int most, bool has_parent) {
    Limits limits;
    limits.nominal = draw_.Between(0, most);
    if (has_parent && draw_.Percent(bounds_)) limits.borrowing = draw_.Between(0, most);
    if (has_parent && draw_.Percent(bounds_)) {
      limits.lending = draw_.Between(0, static_cast<int>(limits.nominal));
    }
    return limits;
  }

  double MakeWeight() {
    static const double kWeights[] = {0, 0.5, 1, 1, 1, 1, 2, 3};
    return kWeights[draw_.Between(0, 7)];
  }

  int Depth(int cohort) const {
    int depth = 0;
    for (; cohort >= 0; cohort = world_.cohorts[static_cast<std::size_t>(cohort)].cohort) ++depth;
    return depth;
  }

  void MakeCohort() {
    Place cohort;
    cohort.name = "c" + std::to_string(world_.cohorts.size());
    if (!world_.cohorts.empty() && draw_.Percent(93)) {
      const int parent = draw_.Between(0, static_cast<int>(world_.cohorts.size()) - 1);
      if (Depth(parent) < 4) cohort.cohort = parent;
    }
    cohort.weight = MakeWeight();
    const int most = draw_.Percent(40) ? 6 : 0;
    for (int pair = 0; most > 0 && pair < world_.Pairs(); ++pair) {
      if (draw_.Percent(70)) cohort.quotas[pair] = MakeLimits(most, cohort.cohort >= 0);
    }
    world_.cohorts.push_back(cohort);
  }

  EvictPolicy MakeEvict() {
    if (!preempting_ || draw_.Percent(15)) return EvictPolicy::kNever;
    return static_cast<EvictPolicy>(draw_.Between(1, 3));
  }

  void MakeQueue() {
    Queue queue;
    queue.name = "q" + std::to_string(world_.queues.size());
    if (!world_.cohorts.empty() && draw_.Percent(95)) {
      queue.cohort = draw_.Between(0, static_cast<int>(world_.cohorts.size()) - 1);
    }
    queue.weight = MakeWeight();
    queue.strict = draw_.Percent(35);
    queue.stops_at_borrow = draw_.Percent(50);
    queue.stops_at_preempt = draw_.Percent(40);
    queue.preempt_before_borrow =
        !queue.stops_at_borrow && !queue.stops_at_preempt && draw_.Percent(50);
    queue.within = draw_.Percent(40) ? EvictPolicy::kNever : MakeEvict();
    queue.reclaim = MakeEvict();
    queue.borrow_while_preempting = queue.reclaim != EvictPolicy::kNever && draw_.Percent(40);
    if (queue.borrow_while_preempting && draw_.Percent(50)) queue.threshold = draw_.Between(0, 2);
    MakeGroups(&queue);
    world_.queues.push_back(queue);
  }

  // One group of all resources, or (rarely) of one of two, or one for each: then each has flavors
  // of its own, for a flavor may be in one group only (rule A4).
  void MakeGroups(Queue* queue) {
    const int flavors = static_cast<int>(world_.flavors.size());
    const int first = draw_.Between(0, flavors - 1);
    const int kind = world_.resources.size() == 2 ? draw_.Between(0, 9) : 0;
    if (kind >= 6 && kind < 9 && flavors > 1) {
      const int split = draw_.Between(1, flavors - 1);
      AddGroup(queue, {0}, first, split);
      AddGroup(queue, {1}, first + split, draw_.Between(1, flavors - split));
      return;
    }
    std::vector<int> resources = {0};
    if (world_.resources.size() == 2 && kind < 9) resources.push_back(1);
    AddGroup(queue, resources, first, draw_.Between(1, flavors));
  }

  void AddGroup(Queue* queue, const std::vector<int>& resources, int first, int count) {
    Group group{resources, {}};
    for (int i = first; i < first + count; ++i) {
      const int flavor = i % static_cast<int>(world_.flavors.size());
      group.flavors.push_back(flavor);
      for (const int resource : resources) {
        queue->quotas[world_.Pair(flavor, resource)] = MakeLimits(most_, queue->cohort >= 0);
      }
    }
    queue->groups.push_back(group);
  }

  bool Covers(const Queue& queue, int resource) const {
    return std::any_of(queue.groups.begin(), queue.groups.end(), [&](const Group& group) {
      return std::count(group.resources.begin(), group.resources.end(), resource) > 0;
    });
  }

  void MakeWorkload(int time) {
    Workload of;
    const int index = static_cast<int>(world_.workloads.size());
    of.name = std::string(index < 10 ? "w0" : "w") + std::to_string(index);
    of.queue = draw_.Between(0, static_cast<int>(world_.queues.size()) - 1);
    of.priority = draw_.Between(0, 3);
    of.created = time;
    of.gated = draw_.Percent(4);
    const Queue& queue = world_.queues[static_cast<std::size_t>(of.queue)];
    for (int i = draw_.Percent(25) ? 2 : 1; i > 0; --i) {
      Pods pods;
      pods.count = draw_.Between(1, 3);
      for (int r = 0; r < static_cast<int>(world_.resources.size()); ++r) {
        if (Covers(queue, r) ? draw_.Percent(80) : draw_.Percent(5)) {
          pods.requests[r] = draw_.Between(1, 1 + most_ / 3);
        } else if (draw_.Percent(10)) {
          pods.requests[r] = 0;
        }
      }
      if (draw_.Percent(15)) {
        pods.selector["kind"] = "f" + std::to_string(draw_.Between(0, 2));
      }
      if (draw_.Percent(70)) pods.tolerates.insert("spot");
      of.pods.push_back(pods);
    }
    Pods& first = of.pods.front();
    if (first.count > 1 && draw_.Percent(25)) first.min_count = draw_.Between(1, first.count - 1);
    world_.workloads.push_back(of);
  }

  // Inside one queue the name decides between equal times.
  void TieInsideQueues() {
    for (std::size_t i = 1; i < world_.workloads.size(); ++i) {
      const std::size_t other = i - 1;
      if (world_.workloads[i].queue == world_.workloads[other].queue && draw_.Percent(20)) {
        world_.workloads[i].created = world_.workloads[other].created;
      }
    }
  }

  // The first queues hold most, so that the others have something to reclaim.
  void GiveQuota() {
    const int greedy = draw_.Between(0, static_cast<int>(world_.queues.size()));
    for (int i = 0; i < static_cast<int>(world_.workloads.size()); ++i) {
      Workload& of = world_.workloads[static_cast<std::size_t>(i)];
      if (!draw_.Percent(of.queue < greedy ? 90 : 25)) continue;
      Holding holding;
      holding.reserved_at = 500 + (i * 7) % 12;
      for (const Pods& pods : of.pods) {
        holding.counts.push_back(pods.count);
        auto& flavors = holding.flavors.emplace_back();
        for (const auto& group : world_.queues[static_cast<std::size_t>(of.queue)].groups) {
          const int flavor = group.flavors[static_cast<std::size_t>(
              draw_.Between(0, static_cast<int>(group.flavors.size()) - 1))];
          for (const int resource : group.resources) {
            if (pods.requests.count(resource)) flavors[resource] = flavor;
          }
        }
      }
      const Ledger ledger = LedgerOf(world_);
      of.holding = holding;
      if (Fits(ledger, HeldBy(world_, i)) || draw_.Percent(4)) {
        of.evicting = draw_.Percent(8);
      } else {
        of.holding.reset();
      }
    }
  }

  bool Fits(const Ledger& ledger, const HeldQuota& held) const {
    const Sums sums(world_, ledger);
    for (int pair = 0; pair < world_.Pairs(); ++pair) {
      if (held.amounts[static_cast<std::size_t>(pair)] > sums.Available(held.queue, pair)) {
        return false;
      }
    }
    return true;
  }

  Draw draw_;
  World world_;
  int bounds_ = 0;          // percent of quotas with a limit
  int most_ = 10;           // the largest nominal quota of a queue
  bool preempting_ = true;  // some queues may evict
};

std::string LimitsText(const World& world, const Place& place) {
  std::string text;
  for (const auto& [pair, limits] : place.quotas) {
    const auto count = static_cast<int>(world.resources.size());
    text += " " + world.flavors[static_cast<std::size_t>(pair / count)].name + "/" +
            world.resources[static_cast<std::size_t>(pair % count)] + "=" +
            std::to_string(limits.nominal);
    if (limits.borrowing) text += ",borrow<=" + std::to_string(*limits.borrowing);
    if (limits.lending) text += ",lend<=" + std::to_string(*limits.lending);
  }
  return text;
}

std::string PlaceText(const World& world, const Place& place) {
  std::string text = place.name + " in ";
  text += place.cohort < 0 ? "-" : world.cohorts[static_cast<std::size_t>(place.cohort)].name;
  return text + " weight " + std::to_string(place.weight) + LimitsText(world, place);
}

std::string QueueText(const World& world, const Queue& queue) {
  static const char* const kEvict[] = {"Never", "Lower", "LowerOrNewer", "Any"};
  std::string text =
      "queue " + PlaceText(world, queue) + (queue.strict ? " Strict" : " BestEffort");
  text += " borrow:" + std::string(queue.stops_at_borrow ? "stop" : "next");
  text += " preempt:" + std::string(queue.stops_at_preempt ? "stop" : "next");
  if (queue.preempt_before_borrow) text += " PreemptionOverBorrowing";
  text += " within:" + std::string(kEvict[static_cast<int>(queue.within)]);
  text += " reclaim:" + std::string(kEvict[static_cast<int>(queue.reclaim)]);
  if (queue.borrow_while_preempting) text += " borrowWithinCohort";
  if (queue.threshold) text += "<=" + std::to_string(*queue.threshold);
  for (const Group& group : queue.groups) {
    text += " group(";
    for (const int r : group.resources) text += world.resources[static_cast<std::size_t>(r)] + " ";
    text += ":";
    for (const int f : group.flavors) text += " " + world.flavors[static_cast<std::size_t>(f)].name;
    text += ")";
  }
  text += " active:";
  for (const int i : queue.active) text += " " + std::to_string(i);
  text += " parked:";
  for (const int i : queue.parked) text += " " + std::to_string(i);
  if (queue.sticky >= 0) text += " sticky: " + std::to_string(queue.sticky);
  return text + "\n";
}

std::string WorkloadText(const World& world, const Workload& of) {
  std::string text = "workload " + of.name + " in " +
                     world.queues[static_cast<std::size_t>(of.queue)].name + " priority " +
                     std::to_string(of.priority) + " created " + std::to_string(of.created);
  if (of.gated) text += " gated";
  if (of.done) text += " done";
  if (of.evicting) text += " evicting";
  for (std::size_t i = 0; i < of.pods.size(); ++i) {
    const Pods& pods = of.pods[i];
    text += " [" + std::to_string(pods.count) + "x";
    if (pods.min_count) text += " min " + std::to_string(*pods.min_count);
    for (const auto& [r, amount] : pods.requests) {
      text += " " + world.resources[static_cast<std::size_t>(r)] + ":" + std::to_string(amount);
    }
    for (const auto& [key, value] : pods.selector) text += " " + key + "=" + value;
    for (const auto& key : pods.tolerates) text += " ~" + key;
    if (of.holding) {
      text += " holds " + std::to_string(of.holding->counts[i]);
      for (const auto& [r, f] : of.holding->flavors[i]) {
        text += " " + world.resources[static_cast<std::size_t>(r)] + "@" +
                world.flavors[static_cast<std::size_t>(f)].name;
      }
    }
    text += "]";
  }
  if (of.holding) text += " since " + std::to_string(of.holding->reserved_at);
  if (of.scan) {
    text += " tried(cycle " + std::to_string(of.scan->cycle);
    for (const auto& tried : of.scan->tried) {
      for (const auto& [r, index] : tried)
        text += " " + std::to_string(r) + ":" + std::to_string(index);
    }
    text += ")";
  }
  return text + "\n";
}

}  // namespace

World RandomWorld(std::uint64_t seed) { return Maker(seed).Make(); }

std::string Describe(const World& world) {
  const Settings& settings = world.settings;
  std::string text = settings.fair ? "fair" : "classical";
  for (const Strategy strategy : settings.strategies) {
    if (settings.fair)
      text += strategy == Strategy::kFinalShare ? " final-share" : " initial-share";
  }
  if (!settings.preempt_within_nominal) text += " no-within-nominal";
  if (!settings.prioritize_non_borrowing) text += " no-non-borrowing-first";
  if (!settings.recompute_on_overlap) text += " no-recompute";
  if (!settings.hashing) text += " no-hashing";
  if (!settings.partial_admission) text += " no-partial";
  text += " cycle " + std::to_string(world.cycle) + "\n";
  for (const Flavor& flavor : world.flavors) {
    text += "flavor " + flavor.name;
    for (const auto& [key, value] : flavor.labels) text += " " + key + "=" + value;
    if (!flavor.taint.empty()) text += " tainted " + flavor.taint;
    text += "\n";
  }
  for (const Place& cohort : world.cohorts) text += "cohort " + PlaceText(world, cohort) + "\n";
  for (const Queue& queue : world.queues) text += QueueText(world, queue);
  for (const Workload& of : world.workloads) text += WorkloadText(world, of);
  return text;
}

}  // namespace muster::oracle
