// What the tasks write, on its way to srun's own output: whole lines, labels, files of -o and -e.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/steps/descriptor.h"

namespace muster::steps {

/// Where output goes. A place that takes no more (its reader is gone) swallows the rest.
class Sink {
 public:
  explicit Sink(int fd);
  /// Writes everything. While the place is full it waits, and calls `busy` so that signals are
  /// heard.
  void Write(std::string_view text);
  void SetBusy(std::function<void()> busy) { busy_ = std::move(busy); }
  /// A copy of everything for sattach; one that does not keep up is dropped.
  void AddCopy(Descriptor copy) { copies_.push_back(std::move(copy)); }

 private:
  int fd_;
  bool regular_ = false, dead_ = false;
  std::function<void()> busy_;
  std::vector<Descriptor> copies_;
};

/// One output of one task.
struct TaskStream {
  Descriptor from;
  Sink* to = nullptr;  // null: read and dropped
  std::string label;   // "3: ", or ""
  bool raw = false;    // pass on as it comes
  std::string line;    // what has come of the current line

  /// Reads once. False at the end.
  bool Read();
  /// What is left without a line break.
  void Finish();

 private:
  void Take(std::string_view text);
};

}  // namespace muster::steps
