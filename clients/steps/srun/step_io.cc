// A file that only one task writes is handed to it; everything that several tasks write goes
// through srun, line by line.
#include "clients/steps/srun/step_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

Descriptor Null() { return Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

Descriptor Duplicate(int fd) { return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

bool IsNull(int fd) {
  struct stat what {};
  return ::fstat(fd, &what) != 0 || (S_ISCHR(what.st_mode) && what.st_rdev == makedev(1, 3));
}

// The reader stays with srun, the writer goes to the task.
bool Pipe(Descriptor* reader, Descriptor* writer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  reader->reset(ends[0]);
  writer->reset(ends[1]);
  return true;
}

bool IsMode(const std::string& mode) {
  return mode == "all" || mode == "none" || WholeNumber(mode).has_value();
}

}  // namespace

bool StepIo::OpenInput(const IoSettings& settings, const NameFacts& facts, Descriptor* out,
                       std::string* error) {
  const std::string& mode = settings.input;
  const auto only = WholeNumber(mode);
  if (mode == "none" || (only && *only != facts.task)) {
    *out = Null();
  } else if (!IsMode(mode)) {
    const std::string path = ExpandName(mode, facts);
    out->reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!*out) *error = std::string("Could not open stdin file: ") + std::strerror(errno);
  } else if (IsNull(0)) {
    *out = Null();
  } else if ((tasks_ == 1 || only) && ::isatty(0) == 0) {
    *out = Duplicate(0);
  } else {
    StdinFeed feed;
    if (!Pipe(out, &feed.to)) *error = std::string("pipe: ") + std::strerror(errno);
    if (feed.to) ::fcntl(feed.to.get(), F_SETFL, O_NONBLOCK);
    feeds_.push_back(std::move(feed));
  }
  return error->empty();
}

// The same path is opened once; all its writers append behind one another.
int StepIo::OpenFile(const std::string& path, bool append, std::string* error) {
  const auto at = files_.find(path);
  if (at != files_.end()) return at->second.get();
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
  Descriptor file(::open(path.c_str(), flags, 0666));
  if (!file) {
    *error = std::string("Could not open stdout file: ") + std::strerror(errno);
    return -1;
  }
  const int fd = file.get();
  files_[path] = std::move(file);
  return fd;
}

bool StepIo::FindPlace(const std::string& mode, const IoSettings& settings, const NameFacts& facts,
                       bool is_error, Place* out, std::string* error) {
  if (IsMode(mode)) {
    const auto only = WholeNumber(mode);
    out->null = mode == "none" || (only && *only != facts.task);
    out->sink = is_error ? &err_ : &out_;
    return true;
  }
  const std::string path = ExpandName(mode, facts);
  const int fd = OpenFile(path, settings.append, error);
  if (fd < 0) return false;
  if (!settings.label && (tasks_ == 1 || NamesTasks(mode))) {
    out->direct = Duplicate(fd);
    return true;
  }
  std::unique_ptr<Sink>& sink = file_sinks_[path];
  if (sink == nullptr) sink = std::make_unique<Sink>(fd);
  out->sink = sink.get();
  return true;
}

Descriptor StepIo::Connect(Place place, const std::string& label) {
  if (place.null) return Null();
  if (place.direct) return std::move(place.direct);
  auto stream = std::make_unique<TaskStream>();
  Descriptor writer;
  if (!Pipe(&stream->from, &writer)) return {};
  ::fcntl(stream->from.get(), F_SETFL, O_NONBLOCK);
  stream->to = place.sink;
  stream->label = label;
  stream->raw = raw_;
  streams_.push_back(std::move(stream));
  return writer;
}

bool StepIo::Prepare(const std::vector<IoSettings>& settings_of_parts, const NameFacts& facts,
                     const std::vector<NodeShare>& shares, std::vector<Descriptor>* out,
                     std::string* error) {
  tasks_ = 0;
  for (const NodeShare& share : shares) tasks_ += share.tasks.size();
  label_width_ = std::to_string(tasks_ > 0 ? tasks_ - 1 : 0).size();
  raw_ = settings_of_parts.front().unbuffered || tasks_ == 1;
  for (const NodeShare& share : shares) {
    const IoSettings& settings = settings_of_parts[std::min(static_cast<std::size_t>(share.part),
                                                            settings_of_parts.size() - 1)];
    // Without -e stderr follows a file of -o; it stays srun's stderr else.
    const std::string error_mode = settings.error.empty()
                                       ? (settings.output.empty() ? "all" : settings.output)
                                       : settings.error;
    for (const std::int32_t task : share.tasks) {
      NameFacts mine = facts;
      mine.task = task;
      mine.node = share.node_id;
      mine.host = share.host;
      std::string label;
      if (settings.label) {
        label = std::to_string(task);
        label.insert(0, label_width_ - std::min(label_width_, label.size()), ' ');
        label += ": ";
      }
      Descriptor input;
      Place stdout_place, stderr_place;
      if (!OpenInput(settings, mine, &input, error)) return false;
      if (!FindPlace(settings.output, settings, mine, false, &stdout_place, error)) return false;
      if (!FindPlace(error_mode, settings, mine, true, &stderr_place, error)) return false;
      out->push_back(std::move(input));
      out->push_back(Connect(std::move(stdout_place), label));
      out->push_back(Connect(std::move(stderr_place), label));
      for (std::size_t k = out->size() - 3; k < out->size(); ++k) {
        if ((*out)[k]) continue;
        *error = std::string("Too many tasks for the limit of open files: ") + std::strerror(errno);
        return false;
      }
    }
  }
  return true;
}

// sattach sees what srun sees; its own descriptors must not hold srun up.
void StepIo::AddCopies(Descriptor out, Descriptor err) {
  for (const Descriptor* one : {&out, &err}) {
    const int flags = ::fcntl(one->get(), F_GETFL);
    ::fcntl(one->get(), F_SETFL, flags | O_NONBLOCK);
  }
  out_.AddCopy(std::move(out));
  err_.AddCopy(std::move(err));
}

void StepIo::SetBusy(const std::function<void()>& busy) {
  out_.SetBusy(busy);
  err_.SetBusy(busy);
  for (auto& [path, sink] : file_sinks_) sink->SetBusy(busy);
}

}  // namespace muster::steps
