// srun's own terminal for --pty.
#pragma once

#include <termios.h>

#include <cstdint>

namespace muster::steps {

/// The size of the terminal at stdin, or zeros.
void TerminalSize(std::int32_t* rows, std::int32_t* columns);
/// Gives the pseudo terminal behind `master` the size of the one at stdin.
void CopyTerminalSize(int master);

/// Keys go to the task one by one and unchanged while this is raw.
class TerminalMode {
 public:
  TerminalMode() = default;
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;
  void MakeRaw();
  void Restore();

 private:
  termios before_{};
  bool raw_ = false;
};

}  // namespace muster::steps
