// Figures: the results of a benchmark, printed as a table or as JSON, each beside the ceiling of
// the same run.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  double bar = 0;  // 0: no bar
  bool bar_is_maximum = false;
  std::string beside;  // what it is compared with; "" if nothing
};

/// The value below which this fraction of the samples lies. Sorts in place.
double Percentile(std::vector<double>* samples, double fraction);
double Median(std::vector<double> values);

/// CPU seconds of this process so far, of all its threads.
double OwnCpu();

/// Prints the figures and the machine to stdout.
void Print(const std::string& benchmark, const std::vector<Figure>& figures, bool json);

}  // namespace muster::bench
