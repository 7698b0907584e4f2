// The forms of values that sbatch's options have. Internal to schedd/shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schedd/model/batch.h"
#include "schedd/shapes/parts/slurm_amounts.h"

namespace muster::shapes {

/// "4", "2-8", "1k"; a size list ("2-8:2", "1,2,4") is narrowed to its least and most.
struct NodeRange {
  std::int64_t least = 0, most = 0;
};
std::optional<NodeRange> ParseNodeRange(std::string_view text);

/// "[R|B:]SIG[@seconds]"; seconds from 0 to 65535, 60 by default.
std::optional<WarningSignal> ParseWarningSignal(std::string_view text);

/// "BEGIN,END" as bits of MailEvent; 0 for NONE; nothing for an unknown word.
std::optional<std::uint32_t> ParseMailEvents(std::string_view text);

}  // namespace muster::shapes
