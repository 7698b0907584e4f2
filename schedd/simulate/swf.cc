// Reads the Standard Workload Format line by line and makes a job of each line that ran: a gang of
// one pod for each processor, with the run time of the trace. The README of this room says what
// each of the 18 fields becomes. Times are bounded by a century, so that sums of them never
// overflow.
#include "schedd/simulate/swf.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/simulate/scenario.h"

namespace muster::simulate {
namespace {

constexpr std::size_t kFields = 18;
constexpr std::int64_t kBytesPerKb = 1024;
// A century.
constexpr std::int64_t kMostSeconds = 100LL * 365 * 86'400;

// Values of the status: 2 to 4 are parts of an execution that has a line of its own.
constexpr std::int64_t kFailedPart = 2, kLastFailedPart = 4, kCancelled = 5;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The whole part of a number; false if the word is no number.
bool ReadNumber(std::string_view word, std::int64_t* out) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *out);
  if (error != std::errc()) return false;
  if (stop == end) return true;
  if (*stop != '.') return false;
  return std::all_of(stop + 1, end, [](char c) { return c >= '0' && c <= '9'; });
}

Error BadLine(std::size_t line, const std::string& what) {
  return InvalidArgument("line " + std::to_string(line) + " of the trace: " + what);
}

// Fields 3, 6, 14, 17 and 18 are checked to be numbers and not used.
Result<SwfJob> ReadLine(std::string_view text, std::size_t line) {
  std::array<std::int64_t, kFields> field{};
  std::size_t count = 0;
  while (!text.empty()) {
    const auto end = std::find_if(text.begin(), text.end(), IsBlank);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
    if (count < kFields && !ReadNumber(word, &field[count]))
      return BadLine(line, "field " + std::to_string(count + 1) +
                               " is no number: " + std::string(word.substr(0, 40)));
    ++count;
  }
  if (count != kFields) return BadLine(line, "a job has 18 fields, not " + std::to_string(count));
  SwfJob job;
  job.number = field[0];
  job.submit = field[1];
  job.run = field[3];
  job.used_processors = field[4];
  job.used_memory = field[6];
  job.requested_processors = field[7];
  job.requested_time = field[8];
  job.requested_memory = field[9];
  job.status = field[10];
  job.user = field[11];
  job.group = field[12];
  job.queue = field[14];
  job.partition = field[15];
  if (job.submit < 0 || job.submit > kMostSeconds)
    return BadLine(line, "field 2, the submit time, must be 0 to a century of seconds");
  if (job.run > kMostSeconds || job.requested_time > kMostSeconds)
    return BadLine(line, "a job of more than a century");
  return job;
}

// The number of a job by which its queue is found; -1 if there is none.
std::int64_t NumberBy(const SwfJob& job, SwfRules::By by) {
  switch (by) {
    case SwfRules::By::kNothing:
      break;
    case SwfRules::By::kQueue:
      return job.queue;
    case SwfRules::By::kUser:
      return job.user;
    case SwfRules::By::kGroup:
      return job.group;
    case SwfRules::By::kPartition:
      return job.partition;
  }
  return -1;
}

// Converts one trace; one use per object.
class Converter {
 public:
  Converter(const SwfRules& rules, Scenario* scenario) : rules_(rules), scenario_(*scenario) {}

  // Arrivals count from the first submission, also if that job is left out.
  Result<SwfCounts> Run(const std::vector<SwfJob>& trace) {
    std::int64_t first = kMostSeconds;
    for (const SwfJob& job : trace) first = std::min(first, job.submit);
    for (const SwfJob& job : trace) {
      const Status taken = Take(job, first);
      if (!taken.ok()) return taken.error();
    }
    NumberByArrival(&scenario_);
    return counts_;
  }

 private:
  // Requested processors if known, else used ones; with rules_.used_processors the other way round.
  std::int64_t ProcessorsOf(const SwfJob& job) const {
    const std::int64_t wanted =
        rules_.used_processors ? job.used_processors : job.requested_processors;
    const std::int64_t other =
        rules_.used_processors ? job.requested_processors : job.used_processors;
    return wanted > 0 ? wanted : other;
  }

  // Adds one job, or counts why it is left out.
  Status Take(const SwfJob& job, std::int64_t first) {
    if (job.status >= kFailedPart && job.status <= kLastFailedPart) {
      ++counts_.partial;
      return Done{};
    }
    if (job.run < 0 || (job.run == 0 && job.status == kCancelled)) {
      ++counts_.never_ran;
      return Done{};
    }
    const std::int64_t processors = ProcessorsOf(job);
    if (processors <= 0) {
      ++counts_.no_processors;
      return Done{};
    }
    if (processors > limits::kPodsPerJob) {
      return InvalidArgument("job " + std::to_string(job.number) + " of the trace has " +
                             std::to_string(processors) + " processors; a job may have " +
                             std::to_string(limits::kPodsPerJob) + " pods");
    }
    if (rules_.max_jobs > 0 && scenario_.jobs.size() >= rules_.max_jobs) {
      return InvalidArgument("more than " + std::to_string(rules_.max_jobs) +
                             " jobs are too many for one simulation");
    }
    Result<JobRecord> record = RecordOf(job, processors);
    if (!record.ok()) return record.error();
    ++counts_.taken;
    AddJob(std::move(*record), SecondsToMicros(SaturatingSub(job.submit, first)),
           SecondsToMicros(job.run), &scenario_);
    return Done{};
  }

  // The job as the daemon would have accepted it.
  Result<JobRecord> RecordOf(const SwfJob& job, std::int64_t processors) {
    const Result<const LocalQueue*> queue = QueueOf(job);
    if (!queue.ok()) return queue.error();
    JobRecord record;
    record.name = record.display_name = "swf-" + std::to_string(job.number);
    record.ns = (*queue)->ns;
    record.local_queue = (*queue)->name;
    record.cluster_queue = (*queue)->cluster_queue;
    if (job.user >= 0) record.user = "user-" + std::to_string(job.user);
    const auto& classes = scenario_.config->priority_classes;
    if (const auto usual = classes.find("default"); usual != classes.end()) {
      record.priority_class = usual->first;
      record.priority = usual->second.value;
    }
    if (rules_.time_limit && job.requested_time > 0) record.time_limit_s = job.requested_time;
    record.pod_sets = PodsOf(job, processors);
    return record;
  }

  // The pod sets of a job. Jobs that request the same share them, which saves most of a trace's
  // memory.
  PodSetsPtr PodsOf(const SwfJob& job, std::int64_t processors) {
    std::int64_t memory = 0;
    if (rules_.memory)
      memory = std::max<std::int64_t>(
          0, job.requested_memory > 0 ? job.requested_memory : job.used_memory);
    PodSetsPtr& known = pods_[{processors, memory}];
    if (known != nullptr) return known;
    PodSet pods;
    pods.name = "main";
    pods.count = static_cast<std::int32_t>(processors);
    SetAmount(&pods.requests, rules_.resource, IsMilliResource(rules_.resource) ? 1000 : 1);
    if (memory > 0) SetAmount(&pods.requests, "memory", SaturatingMul(memory, kBytesPerKb));
    known = std::make_shared<const PodSets>(PodSets{std::move(pods)});
    return known;
  }

  // The LocalQueue that the rules give to the job: by its number, else the queue for all others.
  Result<const LocalQueue*> QueueOf(const SwfJob& job) const {
    const std::int64_t number = NumberBy(job, rules_.by);
    const auto mapped = rules_.queue_of.find(number);
    const std::string& name = mapped == rules_.queue_of.end() ? rules_.queue : mapped->second;
    if (name.empty()) {
      return InvalidArgument("job " + std::to_string(job.number) +
                             " of the trace has no queue: map its number " +
                             std::to_string(number) + " or name a queue for all others");
    }
    const auto slash = name.find('/');
    const std::string ns = slash == std::string::npos ? "default" : name.substr(0, slash);
    const std::string local = slash == std::string::npos ? name : name.substr(slash + 1);
    const auto found = scenario_.config->local_queues.find({ns, local});
    if (found == scenario_.config->local_queues.end())
      return InvalidArgument("LocalQueue \"" + local + "\" does not exist in namespace \"" + ns +
                             "\"");
    return &found->second;
  }

  const SwfRules& rules_;
  Scenario& scenario_;
  SwfCounts counts_;
  // By processors and memory.
  std::map<std::pair<std::int64_t, std::int64_t>, PodSetsPtr> pods_;
};

}  // namespace

// Comments and empty lines count as lines, so that an error names the line of the file.
Result<std::vector<SwfJob>> ParseSwf(std::string_view text) {
  std::vector<SwfJob> jobs;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    while (!row.empty() && IsBlank(row.front())) row.remove_prefix(1);
    while (!row.empty() && IsBlank(row.back())) row.remove_suffix(1);
    if (row.empty() || row.front() == ';') continue;
    Result<SwfJob> job = ReadLine(row, line);
    if (!job.ok()) return job.error();
    jobs.push_back(*job);
  }
  if (jobs.empty()) return InvalidArgument("there is no job in the trace");
  return jobs;
}

// The whole text must be a number.
std::optional<std::int64_t> SwfNumberOf(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<SwfRules::By> SwfByOf(std::string_view name) {
  if (name == "queue") return SwfRules::By::kQueue;
  if (name == "user") return SwfRules::By::kUser;
  if (name == "group") return SwfRules::By::kGroup;
  if (name == "partition") return SwfRules::By::kPartition;
  return std::nullopt;
}

Result<SwfCounts> AddSwfJobs(const std::vector<SwfJob>& trace, const SwfRules& rules,
                             Scenario* scenario) {
  return Converter(rules, scenario).Run(trace);
}

}  // namespace muster::simulate
