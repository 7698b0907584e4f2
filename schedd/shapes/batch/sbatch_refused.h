// Options that Slurm has and this version has not, each with what to do instead (rule B13).
// Internal to schedd/shapes.
#pragma once

#include <span>
#include <string_view>

namespace muster::shapes {

/// The sentence follows the option's name and a colon.
struct RefusedSbatchOption {
  std::string_view name;
  char letter;
  std::string_view sentence;
};

std::span<const RefusedSbatchOption> RefusedSbatchOptions();

}  // namespace muster::shapes
