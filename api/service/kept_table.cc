#include "api/service/kept_table.h"

#include <algorithm>
#include <utility>

namespace muster::api {
namespace {

// With more changes than one in so many rows the rows are ordered anew.
constexpr std::size_t kManyChanges = 8;

// The rows by value and place. What is compared is taken out of the records once, because each look
// at a record of many is a look into far memory.
template <class Value>
std::vector<const JobRecord*> Ordered(const std::vector<const JobRecord*>& by_number,
                                      Value (*value_of)(const JobRecord&, JobColumn),
                                      JobColumn column) {
  std::vector<std::pair<Value, std::size_t>> places;
  places.reserve(by_number.size());
  for (const JobRecord* job : by_number) places.emplace_back(value_of(*job, column), places.size());
  std::sort(places.begin(), places.end());
  std::vector<const JobRecord*> rows;
  rows.reserve(places.size());
  for (const auto& [value, place] : places) rows.push_back(by_number[place]);
  return rows;
}

// Takes the rows at these places out.
void Erase(const std::vector<std::size_t>& places, std::vector<const JobRecord*>* rows) {
  if (places.empty()) return;
  auto next = places.begin();
  std::size_t kept = places.front();
  for (std::size_t i = kept; i < rows->size(); ++i) {
    if (next != places.end() && *next == i) {
      ++next;
    } else {
      (*rows)[kept++] = (*rows)[i];
    }
  }
  rows->resize(kept);
}

bool SameVisibility(const VisibilityPtr& a, const VisibilityPtr& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->all == b->all && a->own == b->own && a->user == b->user;
}

}  // namespace

bool TableKey::Takes(const JobRecord& job) const {
  return PassesFilter(filter, seen, job) && (text.empty() || MatchesText(job, text));
}

bool TableKey::IsLike(const TableKey& other) const {
  JobFilter mine = filter;
  mine.ended_since = other.filter.ended_since;
  return mine == other.filter && text == other.text && column == other.column &&
         counted == other.counted && SameVisibility(seen, other.seen);
}

void CountJob(const JobRecord& job, JobColumn column, int step, JobCounts* counts) {
  const std::string value(TextOf(job, column));
  JobCount& one = (*counts)[value];
  std::size_t& of_state = one.states[job.state];
  const auto change = static_cast<std::size_t>(step);  // wraps round for -1
  one.count += change;
  of_state += change;
  if (of_state == 0) one.states.erase(job.state);
  if (one.count == 0) counts->erase(value);
}

bool KeptTable::Before(const JobRecord* a, const JobRecord* b) const {
  if (key_.column != JobColumn::kId) {
    if (HasNumber(key_.column)) {
      const std::int64_t x = NumberOf(*a, key_.column), y = NumberOf(*b, key_.column);
      if (x != y) return x < y;
    } else if (const int order = TextOf(*a, key_.column).compare(TextOf(*b, key_.column));
               order != 0) {
      return order < 0;
    }
  }
  return a->id < b->id;
}

void KeptTable::Make() {
  rows_.clear();
  counts_.clear();
  size_ = 0;
  source_.ForEach([&](const JobPtr& job) {
    if (!key_.Takes(*job)) return;
    ++size_;
    if (key_.counted) {
      CountJob(*job, key_.column, 1, &counts_);
    } else {
      rows_.push_back(job.get());
    }
  });
  made_ = true;
  if (key_.counted || key_.column == JobColumn::kId) return;
  rows_ = HasNumber(key_.column) ? Ordered<std::int64_t>(rows_, NumberOf, key_.column)
                                 : Ordered<std::string_view>(rows_, TextOf, key_.column);
}

// Looks at every row; the page's time moves on once a minute.
void KeptTable::DropEndedBefore(WallTime time) {
  const auto ended_earlier = [&](const JobRecord& job) {
    return IsTerminal(job.state) && job.end_time < time;
  };
  if (key_.counted) {
    source_.ForEach([&](const JobPtr& job) {
      if (!key_.Takes(*job) || !ended_earlier(*job)) return;
      CountJob(*job, key_.column, -1, &counts_);
      --size_;
    });
  } else {
    std::erase_if(rows_, [&](const JobRecord* job) { return ended_earlier(*job); });
    size_ = rows_.size();
  }
  key_.filter.ended_since = time;
}

// Rows that go are found by the records that they had, so they go before others come.
void KeptTable::Take(Rows gone, Rows come) {
  const auto before = [this](const JobRecord* a, const JobRecord* b) { return Before(a, b); };
  std::vector<std::size_t> places;
  for (const JobRecord* job : gone) {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), job, before);
    places.push_back(static_cast<std::size_t>(at - rows_.begin()));
  }
  std::sort(places.begin(), places.end());
  Erase(places, &rows_);
  std::sort(come.begin(), come.end(), before);
  // From the last one on: what stands behind it moves to its place at the end.
  const auto stayed = static_cast<std::ptrdiff_t>(rows_.size());
  rows_.resize(rows_.size() + come.size());
  auto end = rows_.begin() + stayed;
  auto free = rows_.end();
  for (auto job = come.rbegin(); job != come.rend(); ++job) {
    const auto at = std::upper_bound(rows_.begin(), end, *job, before);
    free = std::move_backward(at, end, free);
    *--free = *job;
    end = at;
  }
  size_ = rows_.size();
}

void KeptTable::Follow(JobSource source, WallTime ended_since) {
  if (!made_) {
    key_.filter.ended_since = ended_since;
    source_ = std::move(source);
    return Make();
  }
  if (key_.filter.ended_since < ended_since) DropEndedBefore(ended_since);
  Rows gone, come;
  ForEachChange(source_, source, [&](const JobPtr& old, const JobPtr& now) {
    if (old != nullptr && key_.Takes(*old)) gone.push_back(old.get());
    if (now != nullptr && key_.Takes(*now)) come.push_back(now.get());
  });
  if (key_.counted) {
    for (const JobRecord* job : gone) CountJob(*job, key_.column, -1, &counts_);
    for (const JobRecord* job : come) CountJob(*job, key_.column, 1, &counts_);
    size_ = size_ + come.size() - gone.size();
    source_ = std::move(source);
  } else if (gone.size() + come.size() > rows_.size() / kManyChanges) {
    source_ = std::move(source);
    Make();
  } else {
    Take(std::move(gone), std::move(come));
    source_ = std::move(source);
  }
}

}  // namespace muster::api
