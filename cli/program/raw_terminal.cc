#include "cli/program/raw_terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace countrace::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
struct sigaction actions_before[std::size(kSignals)];
volatile sig_atomic_t must_end = 0;

void End(int) { must_end = 1; }

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR && must_end == 0) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

winsize SizeNow() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

}  // namespace

RawTerminal::RawTerminal() {
  must_end = 0;
  ::tcgetattr(STDIN_FILENO, &before_);
  struct sigaction end {};
  end.sa_handler = End;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &end, &actions_before[i]);
  }
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  // Ctrl-Z would leave the shell with this screen.
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll("\x1b[?1049h\x1b[?25l");
}

RawTerminal::~RawTerminal() {
  must_end = 0;
  WriteAll("\x1b[0m\x1b[?25h\x1b[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &actions_before[i], nullptr);
  }
}

std::size_t RawTerminal::Columns() { return SizeNow().ws_col; }
std::size_t RawTerminal::Lines() { return SizeNow().ws_row; }

bool RawTerminal::Write(std::string_view bytes) {
  return must_end == 0 && WriteAll(bytes);
}

bool RawTerminal::Read(std::uint64_t timeout_ns, std::string& keys) {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const timespec timeout = {
      .tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000),
      .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000)};
  const int ready = ::ppoll(&input, 1, &timeout, nullptr);
  if (must_end != 0) return false;
  if (ready < 0) return errno == EINTR;  // also a change of the window's size
  if (ready == 0) return true;
  char bytes[256];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got <= 0) return got < 0 && errno == EINTR;
  keys.append(bytes, static_cast<std::size_t>(got));
  return true;
}

}  // namespace countrace::cli
