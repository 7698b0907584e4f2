// Measured amounts in the forms of sacct, sstat and seff.
#pragma once

#include <cstdint>
#include <string>

namespace muster::slurm {

/// CPU time: "00:01.250" (minutes), "01:02:03", "1-02:03:04".
std::string CpuTimeText(std::int64_t microseconds);
/// Bytes in the largest unit that divides them, as sacct shows sizes in memory: "3260K", "2G"; in
/// `unit` if it is not 0: "0.01G".
std::string SizeText(std::int64_t bytes, char unit);
/// Megabytes in `unit` (0: M below a gigabyte, else G): whole, or with two digits behind the point.
std::string MegabytesText(std::int64_t mb, char unit);
/// Bytes read or written: "1.25M".
std::string TransferText(std::int64_t bytes);

}  // namespace muster::slurm
