// Parses job views while they arrive, with Boost.JSON's SAX interface.
//
// JobListHandler tracks the nesting level and the last key on the levels that matter. With J the
// level of a job view's own members: J holds the view's texts and numbers, J+1 those of `batch`,
// J+2 the pod sets (objects in an array) and J+3 their `requests`. The tables below say which key
// goes to which field of JobRow; all other members are skipped without being stored. A page of the
// list has J = 3 (object, array, object), a single view J = 1. The two forms are told apart by the
// first key: a view begins with "id".
#include "clients/slurm/job_list.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cstring>
#include <optional>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"

namespace muster::slurm {
namespace {

// Bytes of one block of the arena.
constexpr std::size_t kBlock = 1 << 20;

// A string member of a job view and the field of JobRow that takes it.
struct TextMember {
  std::string_view key;
  std::string_view JobRow::*to;
};
// A string member of what few jobs have.
struct ExtraText {
  std::string_view key;
  std::string_view JobExtra::*to;
};
struct ExtraNumber {
  std::string_view key;
  std::int64_t JobExtra::*to;
};
struct ExtraFlag {
  std::string_view key;
  bool JobExtra::*to;
};
// The same for a number member.
struct NumberMember {
  std::string_view key;
  void (*set)(JobRow&, std::int64_t);
};

constexpr TextMember kJobTexts[] = {
    {"name", &JobRow::name},
    {"displayName", &JobRow::name},
    {"namespace", &JobRow::ns},
    {"kind", &JobRow::kind},
    {"user", &JobRow::user},
    {"queue", &JobRow::queue},
    {"clusterQueue", &JobRow::cluster_queue},
    {"priorityClass", &JobRow::priority_class},
    {"reason", &JobRow::reason},
    {"message", &JobRow::message},
    {"cluster", &JobRow::cluster},
    {"submitTime", &JobRow::submit_time},
    {"admitTime", &JobRow::admit_time},
    {"startTime", &JobRow::start_time},
    {"endTime", &JobRow::end_time},
    {"requeueAt", &JobRow::requeue_at},
    {"nodeList", &JobRow::node_list},
};
constexpr TextMember kBatchTexts[] = {
    {"arraySpec", &JobRow::array_spec},
    {"workDir", &JobRow::work_dir},
    {"command", &JobRow::command},
    {"output", &JobRow::std_out},
    {"error", &JobRow::std_err},
    {"comment", &JobRow::comment},
    {"gres", &JobRow::gres},
    {"input", &JobRow::std_in},
    {"submitLine", &JobRow::submit_line},
};
constexpr ExtraText kExtraTexts[] = {
    {"features", &JobExtra::features},
    {"requiredNodes", &JobExtra::required_nodes},
    {"excludedNodes", &JobExtra::excluded_nodes},
    {"licenses", &JobExtra::licenses},
    {"reservation", &JobExtra::reservation},
    {"wckey", &JobExtra::wckey},
    {"mailUser", &JobExtra::mail_user},
    {"dependency", &JobExtra::dependency},
    {"begin", &JobExtra::begin},
    {"deadline", &JobExtra::deadline},
    {"suspendedSince", &JobExtra::suspended_since},
    {"waitingTasks", &JobExtra::waiting_tasks},
    {"partitionProblem", &JobExtra::partition_problem},
    {"partitions", &JobExtra::partitions},
};
constexpr ExtraNumber kExtraNumbers[] = {
    {"mailEvents", &JobExtra::mail_events},
    {"timeMinS", &JobExtra::time_min_s},
    {"nice", &JobExtra::nice},
    {"suspendedS", &JobExtra::suspended_s},
    {"taskThrottle", &JobExtra::task_throttle},
    {"tasksPerNode", &JobExtra::tasks_per_node},
    {"memoryPerCpuMb", &JobExtra::memory_per_cpu_mb},
};
constexpr ExtraFlag kExtraFlags[] = {
    {"exclusive", &JobExtra::exclusive},
    {"allocationOnly", &JobExtra::allocation_only},
    {"heldByAdmin", &JobExtra::held_by_admin},
    {"holdAtRequeue", &JobExtra::hold_at_requeue},
    {"specialExit", &JobExtra::special_exit},
};
constexpr NumberMember kJobNumbers[] =
    {
        {"id", [](JobRow& row, std::int64_t n) { row.id = n; }},
        {"priority", [](JobRow& row, std::int64_t n) { row.priority = n; }},
        {"attempt",
         [](JobRow& row, std::int64_t n) { row.attempt = static_cast<std::int32_t>(n); }},
        {"requeues",
         [](JobRow& row, std::int64_t n) { row.requeues = static_cast<std::int32_t>(n); }},
        {"timeLimitSeconds", [](JobRow& row, std::int64_t n) { row.time_limit_s = n; }},
        {"exitSignal",
         [](JobRow& row, std::int64_t n) { row.exit_signal = static_cast<std::int32_t>(n); }},
        {"exitCode",
         [](JobRow& row, std::int64_t n) {
  row.exit_code = static_cast<std::int32_t>(n);
  row.has_exit_code = true;
         }},
};
constexpr NumberMember kBatchNumbers[] = {
    {"arrayJobId", [](JobRow& row, std::int64_t n) { row.array_job_id = n; }},
    {"arrayTaskId",
     [](JobRow& row, std::int64_t n) { row.array_task_id = static_cast<std::int32_t>(n); }},
    {"nodes", [](JobRow& row, std::int64_t n) { row.nodes = static_cast<std::int32_t>(n); }},
    {"tasks", [](JobRow& row, std::int64_t n) { row.tasks = static_cast<std::int32_t>(n); }},
    {"cpusPerTask",
     [](JobRow& row, std::int64_t n) { row.cpus_per_task = static_cast<std::int32_t>(n); }},
    {"maxNodes", [](JobRow& row, std::int64_t n) { row.max_nodes = static_cast<std::int32_t>(n); }},
    {"memoryPerNodeMb", [](JobRow& row, std::int64_t n) { row.memory_per_node_mb = n; }},
};

// A quantity in base units (thousandths for cpu); 0 if malformed. Whole numbers, by far the most
// frequent form, skip the general parser.
std::int64_t Amount(std::string_view resource, std::string_view text) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && end == text.data() + text.size()) {
    return IsMilliResource(resource) ? SaturatingMul(whole, 1000) : whole;
  }
  const Result<std::int64_t> amount = ParseQuantity(resource, text);
  return amount.ok() ? *amount : 0;
}

}  // namespace

// A text longer than a block gets a block of its own; what was left of the block before is not used
// again.
std::string_view Arena::Keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    left_ = text.size() > kBlock ? text.size() : kBlock;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    at_ = blocks_.back().get();
  }
  std::memcpy(at_, text.data(), text.size());
  const std::string_view kept(at_, text.size());
  at_ += text.size();
  left_ -= text.size();
  return kept;
}

// The callbacks of Boost.JSON's parser. `level` counts open objects and arrays; a job view's own
// members are at level `job_level` (3 inside a list, 1 for a single view, 0 before a view begins).
struct JobListHandler {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  // Nothing that the server has taken was longer.
  static constexpr std::size_t max_key_size = limits::kRequestBytes;
  static constexpr std::size_t max_string_size = limits::kRequestBytes;
  using EC = boost::system::error_code;

  enum class Part : std::uint8_t { kOther, kPodSets, kBatch };

  explicit JobListHandler(JobList& to) : list(to) {}

  JobList& list;
  int level = 0, job_level = 0;
  Part part = Part::kOther;
  JobRow row;
  std::string_view state_name;
  std::string key, text;         // parts of a key or string that arrived in pieces; reused
  std::string key3, key4, key5;  // the last key at the top level, in `batch`, and in a pod set
  JobExtra extra;                // of `row`
  bool has_extra = false;
  std::vector<PodAmounts> pod_sets;  // of `row`
  std::int64_t set_count = 0, set_cpu = 0, set_memory = 0, set_gpus = 0;

  bool on_document_begin(EC&) { return level = job_level = 0, true; }
  bool on_document_end(EC&) { return true; }
  bool on_array_begin(EC&) { return ++level, true; }
  bool on_array_end(std::size_t, EC&) { return --level, true; }
  bool on_object_begin(EC&) {
    ++level;
    if (level == 3 && job_level == 0 && key3 == "items") job_level = 3;
    if (level == job_level) BeginRow();
    if (job_level != 0 && level == job_level + 1 && part == Part::kBatch) row.is_batch = true;
    if (job_level != 0 && level == job_level + 2 && part == Part::kPodSets) {
      set_count = set_cpu = set_memory = set_gpus = 0;
    }
    if (level == job_level + 3 && InBatch("components")) extra.components.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, EC&) {
    if (job_level != 0 && level == job_level + 2 && part == Part::kPodSets) EndPodSet();
    if (level == job_level && job_level != 0) EndRow();
    --level;
    return true;
  }
  bool on_key_part(boost::json::string_view more, std::size_t, EC&) {
    return key.append(more), true;
  }
  bool on_key(boost::json::string_view last, std::size_t, EC&) {
    key.append(last);
    if (level == 1 && job_level == 0) {
      key3 = key;
      // A single view begins with "id" at the top; a list begins with "items".
      if (key == "id") job_level = 1, BeginRow();
    } else if (job_level != 0 && level == job_level) {
      part = key == "podSets" ? Part::kPodSets : key == "batch" ? Part::kBatch : Part::kOther;
    } else if (job_level != 0 && level == job_level + 1 && part == Part::kBatch) {
      key4 = key;
    } else if (job_level != 0 && level == job_level + 2) {
      key5 = key;
    }
    current.assign(key);
    key.clear();
    return true;
  }
  bool on_string_part(boost::json::string_view more, std::size_t, EC&) {
    return text.append(more), true;
  }
  bool on_string(boost::json::string_view last, std::size_t, EC&) {
    if (text.empty()) return TakeText({last.data(), last.size()}), true;
    text.append(last);
    TakeText(text);
    text.clear();
    return true;
  }
  bool on_number_part(boost::json::string_view, EC&) { return true; }
  bool on_int64(std::int64_t number, boost::json::string_view, EC&) {
    return TakeNumber(number), true;
  }
  bool on_uint64(std::uint64_t number, boost::json::string_view, EC&) {
    return TakeNumber(static_cast<std::int64_t>(number)), true;
  }
  bool on_double(double, boost::json::string_view, EC&) { return true; }
  bool on_bool(bool value, EC&) {
    if (job_level == 0) return true;
    if (level == job_level && current == "stopping") row.stopping = value;
    if (level != job_level + 1 || part != Part::kBatch) return true;
    if (current == "requeue") row.requeue = value;
    if (value) AssignFlag();
    return true;
  }
  bool on_null(EC&) { return true; }
  bool on_comment_part(boost::json::string_view, EC&) { return true; }
  bool on_comment(boost::json::string_view, EC&) { return true; }

 private:
  std::string current;  // the key of the value that comes next

  // True inside of the member of `batch` with this name.
  bool InBatch(std::string_view member) const {
    return job_level != 0 && part == Part::kBatch && key4 == member;
  }
  void BeginRow() {
    row = JobRow();
    pod_sets.clear();
    if (has_extra) extra = JobExtra();
    has_extra = false;
    state_name = {};
    part = Part::kOther;
  }
  // A row that is no task of an array has no array id, although the view may have the member.
  void EndRow() {
    row.held = state_name == "Held";
    row.state = StateOf(
        {state_name, row.reason, row.stopping, !extra.suspended_since.empty(), extra.special_exit});
    // Of the rows without a task only the records of an array's waiting tasks have an array.
    if (row.array_task_id < 0 && row.array_job_id != row.id && extra.waiting_tasks.empty())
      row.array_job_id = 0;
    if (!extra.components.empty()) {
      extra.pod_sets = pod_sets;
      has_extra = true;
    }
    if (has_extra) {
      list.extras_.push_back(std::move(extra));
      row.extra = &list.extras_.back();
      extra = JobExtra();
      has_extra = false;
    }
    list.rows_.push_back(row);
  }
  // The row's amounts are those of all pods.
  void EndPodSet() {
    row.pods += static_cast<std::int32_t>(set_count);
    row.cpu_milli += set_cpu * set_count;
    row.memory_bytes += set_memory * set_count;
    row.gpus += set_gpus * set_count;
    pod_sets.push_back({static_cast<std::int32_t>(set_count), set_cpu * set_count,
                        set_memory * set_count, set_gpus * set_count});
  }
  void TakeText(std::string_view value) {
    if (job_level == 0) {
      if (level == 1 && current == "next_page_token") list.next_page_token_ = std::string(value);
      return;
    }
    if (level == 1 && job_level == 3 && current == "next_page_token") {
      list.next_page_token_ = std::string(value);
    } else if (level == job_level) {
      if (current == "state")
        state_name = list.arena_.Keep(value);
      else
        Assign(kJobTexts, value);
    } else if (level == job_level + 1 && part == Part::kBatch) {
      if (!Assign(kBatchTexts, value)) AssignExtra(value);
    } else if (level == job_level + 2 && InBatch("how")) {
      extra.how.emplace_back(list.arena_.Keep(current), list.arena_.Keep(value));
      has_extra = true;
    } else if (level == job_level + 3 && part == Part::kPodSets && key5 == "requests") {
      TakeRequest(Amount(current, value));
    }
  }
  void TakeNumber(std::int64_t value) {
    if (job_level == 0) return;
    if (level == job_level)
      Assign(kJobNumbers, value);
    else if (level == job_level + 1 && part == Part::kBatch)
      AssignBatch(value);
    else if (level == job_level + 3 && InBatch("components"))
      TakeComponent(static_cast<std::int32_t>(value));
    else if (level == job_level + 2 && part == Part::kPodSets && current == "count")
      set_count = value;
    else if (level == job_level + 3 && part == Part::kPodSets && key5 == "requests") {
      TakeRequest(current == "cpu" ? SaturatingMul(value, 1000) : value);
    }
  }
  // An amount for one pod of the current pod set. GPUs of all vendors are added up.
  void TakeRequest(std::int64_t amount) {
    if (current == "cpu")
      set_cpu = amount;
    else if (current == "memory")
      set_memory = amount;
    else if (current.ends_with("/gpu"))
      set_gpus += amount;
  }
  // A number of the last component.
  void TakeComponent(std::int32_t value) {
    if (extra.components.empty()) return;
    HetPart& last = extra.components.back();
    if (current == "nodes") last.nodes = value;
    if (current == "tasks") last.tasks = value;
    if (current == "cpusPerTask") last.cpus_per_task = value;
  }
  void AssignExtra(std::string_view value) {
    if (value.empty()) return;
    for (const ExtraText& member : kExtraTexts) {
      if (member.key != current) continue;
      extra.*member.to = list.arena_.Keep(value);
      has_extra = true;
      return;
    }
  }
  // Zeros leave no trace.
  void AssignBatch(std::int64_t value) {
    for (const NumberMember& member : kBatchNumbers) {
      if (member.key == current) return member.set(row, value);
    }
    if (value == 0) return;
    for (const ExtraNumber& member : kExtraNumbers) {
      if (member.key != current) continue;
      extra.*member.to = value;
      has_extra = true;
      return;
    }
  }
  void AssignFlag() {
    for (const ExtraFlag& member : kExtraFlags) {
      if (member.key != current) continue;
      extra.*member.to = true;
      has_extra = true;
      return;
    }
  }
  template <std::size_t N>
  bool Assign(const TextMember (&members)[N], std::string_view value) {
    for (const TextMember& member : members) {
      if (member.key != current) continue;
      // An empty display name must not hide the object's name.
      if (!value.empty()) row.*member.to = list.arena_.Keep(value);
      return true;
    }
    return false;
  }
  template <std::size_t N>
  void Assign(const NumberMember (&members)[N], std::int64_t value) {
    for (const NumberMember& member : members) {
      if (member.key == current) return member.set(row, value);
    }
  }
};

// Created at the first part of an answer and destroyed at its end.
struct JobList::Parser {
  explicit Parser(JobList& list) : parser(boost::json::parse_options{}, list) {}
  boost::json::basic_parser<JobListHandler> parser;
};

JobList::JobList() = default;
JobList::~JobList() = default;

bool JobList::Feed(std::string_view part) {
  if (part.empty()) return true;
  if (parser_ == nullptr) {
    next_page_token_.clear();
    parser_ = std::make_unique<Parser>(*this);
  }
  boost::system::error_code ec;
  const std::size_t used = parser_->parser.write_some(true, part.data(), part.size(), ec);
  if (ec) return false;
  // After the end of the document only white space may follow.
  return part.substr(used).find_first_not_of(" \r\n\t") == std::string_view::npos;
}

bool JobList::Finish() {
  const bool complete = parser_ != nullptr && parser_->parser.done();
  parser_.reset();
  return complete;
}

// Each page streams through the parser; nothing of an answer is kept but the rows.
client::Outcome<Done> FetchJobs(client::ApiClient& api, const client::Query& filters,
                                JobList* list) {
  std::string token;
  do {
    client::Query query = filters;
    query.Add("limit", std::to_string(limits::kPageItemsMax)).Add("page_token", token);
    bool readable = true;
    const client::Outcome<client::HttpResponse> answer =
        api.Stream("/v1/jobs" + query.text(), 0,
                   [&](std::string_view part) { return readable = list->Feed(part); });
    const bool complete = list->Finish();
    if (!answer.ok()) return answer.failure();
    if (!readable || !complete) return client::BadAnswer("the server's job list is not JSON");
    if (!list->next_page_token().empty() && list->next_page_token() == token)
      return client::BadAnswer("the server's job list does not end");
    token = list->next_page_token();
  } while (!token.empty());
  return Done{};
}

// Status 404 is no failure: the job does not exist, or not any more.
client::Outcome<bool> FetchJob(client::ApiClient& api, const std::string& id, JobList* list) {
  client::Outcome<std::string> answer = api.GetText(client::JobPath(id));
  if (!answer.ok()) {
    if (answer.failure().kind == client::Failure::Kind::kRefused && answer.failure().status == 404)
      return false;
    return answer.failure();
  }
  const bool readable = list->Feed(*answer);
  if (!list->Finish() || !readable) return client::BadAnswer("the server's answer is not a job");
  return true;
}

}  // namespace muster::slurm
