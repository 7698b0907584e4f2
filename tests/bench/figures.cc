#include "tests/bench/figures.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "schedd/text/json.h"

namespace muster::bench {
namespace {

std::string LoadAverage() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  file >> one >> five >> fifteen;
  return one + " " + five + " " + fifteen;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

bool Met(const Figure& figure) {
  return figure.bar_is_maximum ? figure.value <= figure.bar : figure.value >= figure.bar;
}

}  // namespace

double OwnCpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double Percentile(std::vector<double>* samples, double fraction) {
  if (samples->empty()) return 0;
  std::sort(samples->begin(), samples->end());
  const auto index = static_cast<std::size_t>(fraction * static_cast<double>(samples->size() - 1));
  return (*samples)[index];
}

double Median(std::vector<double> values) { return Percentile(&values, 0.5); }

void Print(const std::string& benchmark, const std::vector<Figure>& figures, bool json_output) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  if (json_output) {
    json::array list;
    for (const auto& figure : figures) {
      json::object item{{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
      if (figure.bar != 0) {
        item["bar"] = figure.bar;
        item["met"] = Met(figure);
      }
      if (!figure.beside.empty()) item["beside"] = figure.beside;
      list.push_back(std::move(item));
    }
    const json::object out{
        {"benchmark", benchmark},
        {"machine", {{"cores", cores}, {"cpu", CpuModel()}, {"loadavg", LoadAverage()}}},
        {"figures", list}};
    std::printf("%s\n", WriteJsonPretty(out).c_str());
    return;
  }
  std::printf("%s   (%lld cores, %s, load %s)\n", benchmark.c_str(), static_cast<long long>(cores),
              CpuModel().c_str(), LoadAverage().c_str());
  for (const auto& figure : figures) {
    std::printf("  %-46s %14.3f %-8s", figure.name.c_str(), figure.value, figure.unit.c_str());
    if (figure.bar != 0) {
      std::printf(" bar %s %.3f: %s", figure.bar_is_maximum ? "<=" : ">=", figure.bar,
                  Met(figure) ? "met" : "MISSED");
    }
    if (!figure.beside.empty()) std::printf("   %s", figure.beside.c_str());
    std::printf("\n");
  }
}

}  // namespace muster::bench
