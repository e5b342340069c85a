#include "rmap/load/engine.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace countrace::rmap {
namespace {

// A signal handler reads them.
std::string silent_before, silent_behind, silent_message;  // NOLINT
unsigned silent_seconds = 0;

void OnSilence(int) {
  const ssize_t all =
      write(STDERR_FILENO, silent_message.data(), silent_message.size());
  _exit(all >= 0 ? 1 : 2);
}

char Unescaped(char letter) {
  constexpr std::string_view kLetters = "bfnrtv0";
  constexpr std::string_view kBytes("\b\f\n\r\t\v\0", 7);
  const std::size_t at = kLetters.find(letter);
  return at == kLetters.npos ? letter : kBytes[at];
}

}  // namespace

void EndWhenSilent(const std::string& before, const std::string& behind,
                   int seconds) {
  silent_before = before;
  silent_behind = behind;
  silent_seconds = static_cast<unsigned>(seconds);
  signal(SIGALRM, OnSilence);
}

Awaited::Awaited(const EngineAddress& address, unsigned at_most) {
  silent_message = silent_before + address.Shown() + silent_behind;
  alarm(std::min(silent_seconds, at_most));
}
Awaited::~Awaited() { alarm(0); }

absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(const EngineAddress& address,
                                                   const std::string& password,
                                                   const std::string& cluster) {
  return address.kind == EngineKind::kPostgres
             ? OpenPostgres(address, password)
             : OpenClickHouse(address, password, cluster);
}

TextRow CellsOf(std::string_view line) {
  TextRow cells;
  for (bool more = true; more;) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    const std::string_view cell = line.substr(0, end);
    more = end < line.size();
    line.remove_prefix(std::min(end + 1, line.size()));
    auto& text = cells.emplace_back();
    if (cell == "\\N") continue;
    text.emplace();
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const bool escaped = cell[i] == '\\' && i + 1 < cell.size();
      *text += escaped ? Unescaped(cell[++i]) : cell[i];
    }
  }
  return cells;
}

}  // namespace countrace::rmap
