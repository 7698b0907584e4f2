// A feature expression is read by descent: alternatives of sequences of names, with parentheses or
// brackets around parts. In Slurm brackets ask that all nodes have the same feature; all nodes of a
// job are on one member here.
#include "schedd/model/node_choice.h"

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

constexpr std::size_t kNodeNamesMax = 10'000;
constexpr std::size_t kFeatureDepth = 32;
constexpr std::string_view kGpuType = "muster.io/gpu-type";

class FeatureReader {
 public:
  // With labels null the expression is only checked, and its names are gathered.
  FeatureReader(std::string_view text, const LabelMap* labels) : text_(text), labels_(labels) {}

  bool Read() {
    value_ = Alternatives(0);
    return !bad_ && at_ == text_.size();
  }
  bool value() const { return value_; }
  std::vector<std::string>& names() { return names_; }

 private:
  bool Next(std::string_view set) {
    if (at_ >= text_.size() || set.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }

  bool Alternatives(std::size_t depth) {
    bool any = Sequence(depth);
    while (!bad_ && Next("|")) any = Sequence(depth) || any;
    return any;
  }

  bool Sequence(std::size_t depth) {
    bool all = Part(depth);
    while (!bad_ && Next("&,")) all = Part(depth) && all;
    return all;
  }

  bool Part(std::size_t depth) {
    if (depth > kFeatureDepth) return Fail();
    if (Next("([")) {
      const bool value = Alternatives(depth + 1);
      if (!Next(")]")) return Fail();
      return value;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view("&|,()[]*").find(text_[at_]) == std::string_view::npos)
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty() || (at_ < text_.size() && text_[at_] == '*')) return Fail();
    if (labels_ == nullptr) names_.emplace_back(name);
    return labels_ != nullptr && HasFeature(*labels_, name);
  }

  bool Fail() {
    bad_ = true;
    return false;
  }

  const std::string_view text_;
  const LabelMap* const labels_;
  std::size_t at_ = 0;
  bool bad_ = false, value_ = false;
  std::vector<std::string> names_;
};

// "a100" of "gpu:a100:2".
std::string GpuTypeOf(std::string_view gres) {
  if (!gres.starts_with("gpu:")) return "";
  gres.remove_prefix(4);
  const std::size_t colon = gres.find(':');
  return colon == std::string_view::npos ? "" : std::string(gres.substr(0, colon));
}

// The member's labels, and those of its machines: true if one of them passes.
template <typename Test>
bool SomeLabels(const MemberCluster& member, const Test& test) {
  if (test(member.labels)) return true;
  return std::any_of(member.nodes.begin(), member.nodes.end(),
                     [&](const Node& node) { return test(node.labels); });
}

bool IsNodeOf(const MemberCluster& member, const std::string& name) {
  return member.name == name ||
         std::any_of(member.nodes.begin(), member.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

// Adds the names of "n[01-03,7]".
void AddRange(std::string_view item, std::vector<std::string>* names) {
  const std::size_t open = item.find('[');
  if (open == std::string_view::npos) {
    if (!item.empty()) names->emplace_back(item);
    return;
  }
  const std::size_t close = item.find(']', open);
  if (close == std::string_view::npos) return;
  const std::string_view stem = item.substr(0, open), rest = item.substr(close + 1);
  std::string_view ranges = item.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    const std::size_t comma = std::min(ranges.find(','), ranges.size());
    const std::string_view range = ranges.substr(0, comma);
    ranges.remove_prefix(std::min(comma + 1, ranges.size()));
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    std::int64_t from = 0, to = 0;
    std::from_chars(first.data(), first.data() + first.size(), from);
    std::from_chars(last.data(), last.data() + last.size(), to);
    for (std::int64_t i = from; i <= to && names->size() < kNodeNamesMax; ++i) {
      std::string number = std::to_string(i);
      if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
      names->push_back(std::string(stem) + number + std::string(rest));
    }
  }
}

}  // namespace

std::shared_ptr<const NodeChoice> NodeChoiceOf(const JobRecord& job) {
  if (job.batch == nullptr) return nullptr;
  const BatchDetails& batch = *job.batch;
  std::string gpu_type = GpuTypeOf(batch.gres);
  if (batch.features.empty() && batch.required_nodes.empty() && batch.excluded_nodes.empty() &&
      gpu_type.empty())
    return nullptr;
  auto choice = std::make_shared<NodeChoice>();
  choice->required = NodeNames(batch.required_nodes);
  choice->excluded = NodeNames(batch.excluded_nodes);
  choice->features = batch.features;
  choice->gpu_type = std::move(gpu_type);
  return choice;
}

std::string NodeChoiceRefusal(const NodeChoice& choice, const MemberCluster& member) {
  for (const std::string& name : choice.required) {
    if (!IsNodeOf(member, name)) return "is not node " + name + ", which the job requires";
  }
  for (const std::string& name : choice.excluded) {
    if (member.name == name) return "is excluded by the job";
  }
  if (!choice.features.empty() && !SomeLabels(member, [&](const LabelMap& labels) {
        return SatisfiesFeatures(choice.features, labels);
      }))
    return "does not have the features " + choice.features;
  if (!choice.gpu_type.empty() && !SomeLabels(member, [&](const LabelMap& labels) {
        const auto found = labels.find(std::string(kGpuType));
        return found != labels.end() && found->second == choice.gpu_type;
      }))
    return "has no GPUs of type " + choice.gpu_type;
  return "";
}

bool HasFeature(const LabelMap& labels, std::string_view feature) {
  return std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto& [key, value] = label;
    const std::string_view name = std::string_view(key).substr(key.rfind('/') + 1);
    if ((key == feature || name == feature) && value != "false") return true;
    return value == feature || key + "=" + value == feature;
  });
}

std::optional<std::vector<std::string>> FeatureNames(std::string_view expression) {
  FeatureReader reader(expression, nullptr);
  if (!reader.Read()) return std::nullopt;
  return std::move(reader.names());
}

bool SatisfiesFeatures(std::string_view expression, const LabelMap& labels) {
  FeatureReader reader(expression, &labels);
  return reader.Read() && reader.value();
}

std::vector<std::string> NodeNames(std::string_view list) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size() && names.size() < kNodeNamesMax; ++i) {
    if (i < list.size() && list[i] == '[') inside = true;
    if (i < list.size() && list[i] == ']') inside = false;
    if (i < list.size() && (inside || list[i] != ',')) continue;
    AddRange(list.substr(begin, i - begin), &names);
    begin = i + 1;
  }
  return names;
}

}  // namespace muster
