// Rights and filters are those of every list. Of a table that is not kept only the piece that is
// asked for is sorted.
#include "api/service/job_table.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::api {
namespace {

// The jobs from `first` to `last` in the order of a column. What is compared is taken out of the
// records once, because each look at a record of many is a look into far memory.
template <class Value>
std::vector<JobPtr> SortedPiece(const std::vector<const JobPtr*>& jobs,
                                Value (*value_of)(const JobRecord&, JobColumn),
                                const JobTableAsk& ask, std::size_t first, std::size_t last) {
  // `jobs` is by number, so places break ties as numbers do.
  std::vector<std::pair<Value, std::size_t>> places;
  places.reserve(jobs.size());
  for (const JobPtr* job : jobs) places.emplace_back(value_of(**job, ask.order), places.size());
  const auto before = [&](const auto& a, const auto& b) { return ask.descending ? b < a : a < b; };
  const auto begin = places.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(last);
  if (begin != end) std::nth_element(places.begin(), begin, places.end(), before);
  std::partial_sort(begin, end, places.end(), before);
  std::vector<JobPtr> piece;
  for (auto one = begin; one != end; ++one) piece.push_back(*jobs[one->second]);
  return piece;
}

// The places of a piece in a table of `total` jobs.
std::pair<std::size_t, std::size_t> PlacesOf(const JobTableAsk& ask, std::size_t total) {
  const std::size_t first = std::min(ask.offset, total);
  return {first, first + std::min(ask.limit, total - first)};
}

JobTable PieceOfKept(const KeptTable& kept, const JobTableAsk& ask) {
  JobTable table;
  table.total = kept.size();
  const auto [first, last] = PlacesOf(ask, table.total);
  for (std::size_t i = first; i < last; ++i)
    table.items.push_back(kept.At(ask.descending ? table.total - 1 - i : i));
  return table;
}

JobTable PieceOfJobs(const std::vector<const JobPtr*>& jobs, const JobTableAsk& ask) {
  JobTable table;
  table.total = jobs.size();
  const auto [first, last] = PlacesOf(ask, table.total);
  if (ask.order == JobColumn::kId) {
    for (std::size_t i = first; i < last; ++i)
      table.items.push_back(*jobs[ask.descending ? table.total - 1 - i : i]);
  } else if (HasNumber(ask.order)) {
    table.items = SortedPiece<std::int64_t>(jobs, NumberOf, ask, first, last);
  } else {
    table.items = SortedPiece<std::string_view>(jobs, TextOf, ask, first, last);
  }
  return table;
}

const Error kTooMany = InvalidArgument("more than " + std::to_string(limits::kPageItemsMax) +
                                       " jobs match: name a state, a namespace or a later `since`");

}  // namespace

JobTables::JobTables(const SchedulerService& service)
    : service_(service), sources_([&store = service.store()](const JobQuery& query) {
        return store.ReadJobs(query);
      }) {}

Status JobTables::Read(const auth::Principal& who, TableKey key,
                       const std::function<void(const KeptTable&)>& of_kept,
                       const std::function<void(const std::vector<const JobPtr*>&)>& of_jobs) {
  const Result<WorldViewPtr> ready = service_.ReadyView();
  if (!ready.ok()) return ready.error();
  Result<VisibilityPtr> seen =
      VisibleJobs(service_.authorizer(), who, *(*ready)->config, key.filter);
  if (!seen.ok()) return seen.error();
  key.seen = std::move(*seen);
  Result<std::optional<JobSource>> source = sources_.Of(key.filter, **ready);
  if (!source.ok()) return source.error();
  if (*source) {
    bool too_many = false;
    const auto read = [&](const KeptTable& table) {
      too_many = table.size() > limits::kPageItemsMax;
      if (!too_many) of_kept(table);
    };
    if (kept_.Read(key, **source, read)) {
      if (too_many) return kTooMany;
      return Done{};
    }
  } else {
    Result<JobPage> page = service_.ListJobs(who, key.filter, "", limits::kPageItemsMax);
    if (!page.ok()) return page.error();
    if (!page->next_page_token.empty()) return kTooMany;
    source->emplace().ended = std::make_shared<const EndedJobs::List>(std::move(page->items));
  }
  std::vector<const JobPtr*> jobs;
  (*source)->ForEach([&](const JobPtr& job) {
    if (key.Takes(*job)) jobs.push_back(&job);
  });
  if (jobs.size() > limits::kPageItemsMax) return kTooMany;
  of_jobs(jobs);
  return Done{};
}

Result<JobTable> JobTables::Piece(const auth::Principal& who, const JobTableAsk& ask) {
  JobTable table;
  const Status read = Read(
      who, {ask.filter, nullptr, ask.text, ask.order, false},
      [&](const KeptTable& kept) { table = PieceOfKept(kept, ask); },
      [&](const std::vector<const JobPtr*>& jobs) { table = PieceOfJobs(jobs, ask); });
  if (!read.ok()) return read.error();
  return table;
}

Result<JobCounts> JobTables::CountBy(const auth::Principal& who, const JobFilter& filter,
                                     const std::string& text, JobColumn column) {
  JobCounts counts;
  const Status read = Read(
      who, {filter, nullptr, text, column, true},
      [&](const KeptTable& kept) { counts = kept.counts(); },
      [&](const std::vector<const JobPtr*>& jobs) {
    for (const JobPtr* job : jobs) CountJob(**job, column, 1, &counts);
      });
  if (!read.ok()) return read.error();
  return counts;
}

bool JobTables::ForgetOld() {
  if (kept_.ForgetOld()) return true;
  sources_.Forget();
  return false;
}

}  // namespace muster::api
