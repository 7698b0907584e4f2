// HostShares: which cpus of this host and which devices of a member its pods have. Pure; a plain
// value. It is filled again from the pods on disk when a daemon starts.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster::local {

class HostShares {
 public:
  HostShares() = default;
  /// `cpus`: the numbers of the cpus that pods may run on.
  explicit HostShares(const std::vector<int>& cpus);

  /// `count` cpus that the fewest pods have, and counts them as given. Empty if the pod may use
  /// every cpu anyway: it asks for none, or for as many as there are or more.
  std::vector<int> TakeCpus(int count);
  /// `count` devices 0, 1 ... total - 1 of a member, those first that no pod has. At most `total`.
  std::vector<int> TakeDevices(const std::string& member, int count, int total);
  /// Counts what a pod on disk has been given already.
  void Have(const std::string& member, const std::vector<int>& cpus,
            const std::vector<int>& devices);
  /// The pod has ended.
  void GiveBack(const std::string& member, const std::vector<int>& cpus,
                const std::vector<int>& devices);

 private:
  std::map<int, int> cpus_;  // pods by cpu
  std::map<std::string, std::map<int, int>> devices_;
};

}  // namespace muster::local
