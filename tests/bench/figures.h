// Figures: what a benchmark prints, as a table or as JSON, each beside the ceiling of the same run.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  double bar = 0;  // 0: none
  bool bar_is_maximum = false;
  std::string beside;  // what it is compared with, in words; "" if nothing
};

/// Latencies in seconds; sorts in place.
double Percentile(std::vector<double>* samples, double fraction);
double Median(std::vector<double> values);

/// CPU seconds of this process so far, with all its threads.
double OwnCpu();

/// Prints everything with the machine it ran on; to stdout.
void Print(const std::string& benchmark, const std::vector<Figure>& figures, bool json);

}  // namespace muster::bench
