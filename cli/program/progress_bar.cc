#include "cli/program/progress_bar.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/interruption.h"
#include "cli/program/terminal.h"

namespace countrace::cli {
namespace {

constexpr std::size_t kBarCells = 30;
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
// An estimate after less time than this varies too much to be useful.
constexpr auto kBeforeEstimate = std::chrono::milliseconds(500);

}  // namespace

bool ShowProgress() {
  const char* const term = std::getenv("TERM");
  return IsTerminal(STDERR_FILENO) && term != nullptr &&
         std::string_view(term) != "dumb";
}

ProgressBar::ProgressBar(std::string label, bool enabled)
    : label_(base::EscapeName(label)), enabled_(enabled) {}

ProgressBar::~ProgressBar() { Clear(); }

bool ProgressBar::IsTimeToDraw() {
  if (!enabled_) return false;
  const Clock::time_point now = Clock::now();
  if (now < next_draw_) return false;
  next_draw_ = now + kBetweenDraws;
  return true;
}

void ProgressBar::Draw(std::string line) {
  // Return to column 0, erase to the end of the line.
  line = "\r\x1b[K" + line;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::Update(std::uint64_t done, std::uint64_t total) {
  if (!IsTimeToDraw() || total == 0) return;
  if (done > total) done = total;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto cells = static_cast<std::size_t>(share * kBarCells);
  std::string line = absl::StrFormat("%s %3.0f %% [%s%s]", label_, share * 100,
                                     std::string(cells, '#'),
                                     std::string(kBarCells - cells, ' '));
  const auto elapsed = Clock::now() - begin_;
  if (share > 0 && elapsed >= kBeforeEstimate) {
    const double left_ns =
        std::chrono::duration<double, std::nano>(elapsed).count() *
        (1 - share) / share;
    line += " ETA " + base::FormatClock(static_cast<std::uint64_t>(left_ns));
  }
  Draw(std::move(line));
}

void ProgressBar::Update(std::string_view text) {
  if (IsTimeToDraw()) Draw(label_ + " " + base::EscapeName(text));
}

void ProgressBar::Clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

logformat::ProgressCallback ProgressBar::Callback() {
  return [this](const logformat::Progress& progress) {
    Update(progress.done, progress.total);
    return !IsInterrupted();
  };
}

}  // namespace countrace::cli
