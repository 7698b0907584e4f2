// Raw mode and window sizes.
#include "clients/steps/srun/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace muster::steps {

void TerminalSize(std::int32_t* rows, std::int32_t* columns) {
  winsize size{};
  if (::ioctl(0, TIOCGWINSZ, &size) != 0) return;
  *rows = size.ws_row;
  *columns = size.ws_col;
}

void CopyTerminalSize(int master) {
  winsize size{};
  if (::ioctl(0, TIOCGWINSZ, &size) == 0) ::ioctl(master, TIOCSWINSZ, &size);
}

void TerminalMode::MakeRaw() {
  if (raw_ || ::tcgetattr(0, &before_) != 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(0, TCSADRAIN, &raw) == 0;
}

void TerminalMode::Restore() {
  if (raw_) ::tcsetattr(0, TCSADRAIN, &before_);
  raw_ = false;
}

TerminalMode::~TerminalMode() { Restore(); }

}  // namespace muster::steps
