#include "schedd/lifecycle/dependency_text.h"

#include <string_view>

#include "schedd/lifecycle/dependencies.h"

namespace muster {
namespace {

std::string_view TypeText(DependencyType type) {
  switch (type) {
    case DependencyType::kAfter:
      return "after";
    case DependencyType::kAfterAny:
      return "afterany";
    case DependencyType::kAfterOk:
      return "afterok";
    case DependencyType::kAfterNotOk:
      return "afternotok";
    case DependencyType::kAfterCorr:
      return "aftercorr";
    case DependencyType::kSingleton:
      return "singleton";
    case DependencyType::kAfterBurstBuffer:
      return "afterburstbuffer";
  }
  return "";
}

}  // namespace

std::string DependencyText(const BatchState& state) {
  std::string out;
  for (const Dependency& one : state.dependencies) {
    if (!out.empty()) out += state.any_dependency ? '?' : ',';
    out += TypeText(one.type);
    if (one.type != DependencyType::kSingleton) {
      out += ":" + std::to_string(one.job.value);
      if (one.task >= 0) out += "_" + std::to_string(one.task);
      if (one.task == kAllTasks) out += "_*";
      if (one.minutes > 0) out += "+" + std::to_string(one.minutes);
    }
    out += one.failed ? "(failed)" : "(unfulfilled)";
  }
  return out;
}

std::string TaskRangesText(const TaskRanges& ranges) {
  std::string out;
  for (const TaskRange& one : ranges) {
    if (!out.empty()) out += ',';
    out += std::to_string(one.first);
    if (one.last > one.first) out += "-" + std::to_string(one.last);
    if (one.last > one.first && one.step > 1) out += ":" + std::to_string(one.step);
  }
  return out;
}

}  // namespace muster
