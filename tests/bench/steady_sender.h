// SteadySender: submits jobs at a rate to a daemon that somebody else has started, and measures
// each answer. Beside it a thread writes to the disk, so that a reader sees what the disk does
// meanwhile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::bench {

struct SteadyOptions {
  int port = 0;         // of a daemon's REST on this machine, with the LocalQueue bench/bench
  double rate = 200;    // submissions a second, each sent when it is due
  double seconds = 10;  // how long
  std::string prefix = "send";  // of the jobs' names; a number follows
  std::size_t from = 0;         // the first number
  std::string disk;             // a directory to write in; "": nothing is written
  double disk_rate = 50;        // writes a second
};

struct SteadyResult {
  std::vector<double> submit_ms;  // from when a submission was due to its answer
  std::vector<double> disk_ms;    // of one write of 4 KiB and its fdatasync
  std::size_t refused = 0;
  std::string first_refusal;
  double seconds = 0;  // until the last answer
};

/// Blocks until every submission is answered. Errors: nothing can be written in `disk`.
Result<SteadyResult> SendSteadily(const SteadyOptions& options);

/// The result as one line of JSON.
std::string SteadyJson(const SteadyResult& result);

}  // namespace muster::bench
