// The descriptors of a step's tasks: pipes to srun, files of -o, -e and -i, or srun's own stdin.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "clients/steps/messages.h"
#include "clients/steps/srun/output.h"
#include "clients/steps/srun/output_names.h"

namespace muster::steps {

struct IoSettings {
  std::string input = "all", output = "all";
  std::string error;  // "": as the output, or srun's stderr
  bool label = false, unbuffered = false, append = false;
};

/// The stdin of one task that srun feeds.
struct StdinFeed {
  Descriptor to;
  std::string pending;
};

class StepIo {
 public:
  /// Three descriptors for each task, in the order of the shares. `settings` has an item for each
  /// part of the step. False with `error` if a file cannot be opened.
  bool Prepare(const std::vector<IoSettings>& settings, const NameFacts& facts,
               const std::vector<NodeShare>& shares, std::vector<Descriptor>* out,
               std::string* error);

  std::vector<std::unique_ptr<TaskStream>>& streams() { return streams_; }
  std::vector<StdinFeed>& feeds() { return feeds_; }
  Sink& out() { return out_; }
  Sink& err() { return err_; }
  void AddCopies(Descriptor out, Descriptor err);
  void SetBusy(const std::function<void()>& busy);

 private:
  struct Place {
    Descriptor direct;  // the task writes here itself
    Sink* sink = nullptr;
    bool null = false;
  };
  bool OpenInput(const IoSettings& settings, const NameFacts& facts, Descriptor* out,
                 std::string* error);
  bool FindPlace(const std::string& mode, const IoSettings& settings, const NameFacts& facts,
                 bool is_error, Place* out, std::string* error);
  Descriptor Connect(Place place, const std::string& label);
  int OpenFile(const std::string& path, bool append, std::string* error);

  Sink out_{1}, err_{2};
  std::size_t tasks_ = 0;
  std::map<std::string, Descriptor> files_;
  std::map<std::string, std::unique_ptr<Sink>> file_sinks_;
  std::vector<std::unique_ptr<TaskStream>> streams_;
  std::vector<StdinFeed> feeds_;
  std::size_t label_width_ = 1;
  bool raw_ = false;
};

}  // namespace muster::steps
